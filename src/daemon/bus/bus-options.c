/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * One table says what each option is called, its D-Bus type, and where its value goes.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <systemd/sd-bus.h>

#include "bus/bus-error.h"
#include "bus/bus-options.h"
#include "shared/fd.h"
#include "shared/text.h"

typedef struct OptionField {
        const char *name;
        const char *type;
        size_t offset;
} OptionField;

#define FIELD(_name, _type, _member) \
        { _name, _type, offsetof(StartOptions, _member) }

/* clang-format off */
static const OptionField option_fields[] = {
        FIELD("preset",         "s",  preset),
        FIELD("config-text",    "s",  config_text),
        FIELD("config",         "ay", config),
        FIELD("sources",        "as", sources),
        FIELD("events",         "as", events),
        FIELD("categories",     "as", categories),
        FIELD("buffer-size-kb", "u",  buffer_size_kb),
        FIELD("fill-policy",    "s",  fill_policy),
        FIELD("duration-ms",    "u",  duration_ms),
        FIELD("name",           "s",  name),
        FIELD("output",         "h",  output_fd),
        FIELD("detach",         "b",  detach),
        FIELD("broadcast",      "b",  broadcast),
        FIELD("partial",        "b",  partial),
        FIELD("scope",          "s",  scope),
};
/* clang-format on */

void start_options_deinit(StartOptions *options) {
        char **const lists[] = { options->sources, options->events, options->categories };

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
                for (char **at = lists[i]; at && *at; at++)
                        free(*at);
                free(lists[i]);
        }
        free(options->preset);
        free(options->config_text);
        free(options->config);
        free(options->fill_policy);
        free(options->name);
        free(options->scope);
        fd_close(options->output_fd);
}

static int option_unknown(const char *name, sd_bus_error *error) {
        const char *names[ARRAY_SIZE(option_fields)], *nearest;

        for (size_t i = 0; i < ARRAY_SIZE(option_fields); i++)
                names[i] = option_fields[i].name;
        nearest = text_nearest(name, names, ARRAY_SIZE(names));
        if (nearest)
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "unknown option \"%s\"; did you mean \"%s\"?",
                                     name,
                                     nearest);
        return bus_error_set(error,
                             BUS_ERROR_BAD_CONFIG,
                             "unknown option \"%s\"; StartSession()'s documentation lists them",
                             name);
}

static int option_find(size_t *ret, const char *name, uint64_t given, sd_bus_error *error) {
        for (size_t i = 0; i < ARRAY_SIZE(option_fields); i++) {
                if (!streq(option_fields[i].name, name))
                        continue;
                if (given & UINT64_C(1) << i)
                        return bus_error_set(error,
                                             BUS_ERROR_BAD_CONFIG,
                                             "option \"%s\" is given twice; give it once",
                                             name);
                *ret = i;
                return 0;
        }
        return option_unknown(name, error);
}

static int
option_check_type(sd_bus_message *message, const OptionField *field, sd_bus_error *error) {
        const char *contents;
        char type;
        int r;

        r = sd_bus_message_peek_type(message, &type, &contents);
        if (r < 0)
                return r;
        if (type != 'v' || !streq(contents, field->type))
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "option \"%s\" has D-Bus type \"%s\"; it must be \"%s\"",
                                     field->name,
                                     type == 'v' ? contents : "?",
                                     field->type);
        return 0;
}

static int read_string(sd_bus_message *message, char **ret) {
        const char *value;
        int r;

        r = sd_bus_message_read(message, "s", &value);
        if (r < 0)
                return r;
        *ret = strdup(value);
        return *ret ? 0 : -ENOMEM;
}

/* The message's own descriptor lives as long as the message; the output's longer. */
static int read_fd(sd_bus_message *message, int *ret) {
        int fd, r;

        r = sd_bus_message_read(message, "h", &fd);
        if (r < 0)
                return r;
        *ret = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        return *ret < 0 ? -errno : 0;
}

static int read_bytes(sd_bus_message *message, StartOptions *options) {
        const void *data;
        size_t n;
        int r;

        r = sd_bus_message_read_array(message, 'y', &data, &n);
        if (r < 0)
                return r;
        options->config = malloc(n + 1);
        if (!options->config)
                return -ENOMEM;
        if (n > 0)
                memcpy(options->config, data, n);
        options->n_config = n;
        options->has_config = true;
        return 0;
}

static int read_bool(sd_bus_message *message, bool *ret) {
        int value, r;

        r = sd_bus_message_read(message, "b", &value);
        *ret = r > 0 && value;
        return r;
}

static int
option_read_value(StartOptions *options, const OptionField *field, sd_bus_message *message) {
        void *at = (char *)options + field->offset;

        if (streq(field->type, "s"))
                return read_string(message, at);
        if (streq(field->type, "u"))
                return sd_bus_message_read(message, "u", at);
        if (streq(field->type, "as"))
                return sd_bus_message_read_strv(message, at);
        if (streq(field->type, "h"))
                return read_fd(message, at);
        if (streq(field->type, "b"))
                return read_bool(message, at);
        return read_bytes(message, options);
}

/* 0 would be taken for "not given", and the default be a surprise. */
static int
option_check_value(const StartOptions *options, const OptionField *field, sd_bus_error *error) {
        if (field->offset == offsetof(StartOptions, buffer_size_kb) && options->buffer_size_kb == 0)
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "option \"%s\" is 0; leave it out for the default",
                                     field->name);
        return 0;
}

static int option_read(StartOptions *options, sd_bus_message *message, sd_bus_error *error) {
        const char *name;
        size_t i = 0;
        int r;

        r = sd_bus_message_read(message, "s", &name);
        if (r < 0)
                return r;
        r = option_find(&i, name, options->given, error);
        if (r < 0)
                return r;
        r = option_check_type(message, &option_fields[i], error);
        if (r < 0)
                return r;
        options->given |= UINT64_C(1) << i;
        r = sd_bus_message_enter_container(message, 'v', option_fields[i].type);
        if (r < 0)
                return r;
        r = option_read_value(options, &option_fields[i], message);
        if (r < 0)
                return r;
        r = option_check_value(options, &option_fields[i], error);
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(message);
}

int start_options_read(StartOptions *options, sd_bus_message *message, sd_bus_error *error) {
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = option_read(options, message, error);
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(message);
}
