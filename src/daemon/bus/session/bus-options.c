/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One table has the name of each option, its D-Bus type, and where its value is stored.
 */

#include <stdlib.h>

#include "bus/link/names-read.h"
#include "bus/session/bus-options.h"
#include "shared/fd.h"

#define FIELD(_name, _type, _member, ...) \
        { _name, _type, offsetof(StartOptions, _member), ##__VA_ARGS__ }

/* clang-format off */
static const OptionField option_fields[] = {
        FIELD("preset",         "s",  preset),
        FIELD("config-text",    "s",  config_text),
        FIELD("config",         "ay", config),
        FIELD("sources",        "as", sources),
        FIELD("events",         "as", events),
        FIELD("categories",     "as", categories),
        FIELD("buffer-size-kb", "u",  buffer_size_kb, .is_not_zero = true),
        FIELD("fill-policy",    "s",  fill_policy),
        FIELD("duration-ms",    "u",  duration_ms),
        FIELD("name",           "s",  name),
        FIELD("output",         "h",  output_fd),
        FIELD("detach",         "b",  detach),
        FIELD("broadcast",      "b",  broadcast),
        FIELD("partial",        "b",  partial),
        FIELD("snapshot-before-ms", "u", snapshot_before_ms, .is_not_zero = true),
        FIELD("scope",          "s",  scope),
};
/* clang-format on */

void start_options_deinit(StartOptions *options) {
        names_free(options->sources);
        names_free(options->events);
        names_free(options->categories);
        free(options->preset);
        free(options->config_text);
        free(options->config.data);
        free(options->fill_policy);
        free(options->name);
        free(options->scope);
}

int config_options_read(Config **ret,
                        const char *method,
                        sd_bus_message *message,
                        sd_bus_error *error) {
        _cleanup_(start_options_deinit) StartOptions options = START_OPTIONS_INIT;
        static const OptionField fields[] = {
                FIELD("config-text", "s", config_text),
                FIELD("config", "ay", config),
        };
        const OptionTable table = { method, fields, ARRAY_SIZE(fields) };
        PolicyScope scope;
        int r;

        r = options_read(&table, &options, &options.given, message, error);
        if (r < 0)
                return r;
        if (!options.given)
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "%s() needs \"config\" or \"config-text\"",
                                     method);
        return start_options_to_config(ret, &scope, &options, error);
}

int start_options_read(StartOptions *options, sd_bus_message *message, sd_bus_error *error) {
        static const OptionTable table = { "StartSession",
                                           option_fields,
                                           ARRAY_SIZE(option_fields) };

        return options_read(&table, options, &options->given, message, error);
}
