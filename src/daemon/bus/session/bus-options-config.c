/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * From StartOptions to a trace config. A config that no option adds to is used as it was given, byte for byte. Any
 * other is unpacked into a message of our own, changed, and packed again, which keeps unknown fields, too.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bus/link/bus-error.h"
#include "bus/session/bus-options.h"
#include "config/preset.h"

typedef Perfetto__Protos__TraceConfig TraceConfig;
typedef Perfetto__Protos__TraceConfig__DataSource DataSource;
typedef Perfetto__Protos__TraceConfig__BufferConfig BufferConfig;
typedef Perfetto__Protos__DataSourceConfig DataSourceConfig;

#define SOURCE_FTRACE      "linux.ftrace"
#define SOURCE_TRACK_EVENT "track_event"

static void trace_config_freep(TraceConfig **message) {
        if (*message)
                perfetto__protos__trace_config__free_unpacked(*message, NULL);
}

/* Grows a repeated field by one element. Messages are protobuf-c's, whose default allocator is malloc(). */
static int repeated_append(void *array, size_t *n, void *element) {
        void ***elements = array, **bigger;

        bigger = reallocarray(*elements, *n + 1, sizeof(void *));
        if (!bigger)
                return -ENOMEM;
        bigger[(*n)++] = element;
        *elements = bigger;
        return 0;
}

#define repeated_append_new(array, n, Type, type_init)             \
        ({                                                         \
                Type *_new = malloc(sizeof(Type));                 \
                                                                   \
                if (_new) {                                        \
                        type_init(_new);                           \
                        if (repeated_append(array, n, _new) < 0) { \
                                free(_new);                        \
                                _new = NULL;                       \
                        }                                          \
                }                                                  \
                _new;                                              \
        })

static int strings_append(char ***array, size_t *n, const char *string) {
        char *copy = strdup(string);

        if (!copy)
                return -ENOMEM;
        if (repeated_append(array, n, copy) < 0) {
                free(copy);
                return -ENOMEM;
        }
        return 0;
}

static int string_set(char **field, const char *value) {
        char *copy = strdup(value);

        if (!copy)
                return -ENOMEM;
        if (*field != protobuf_c_empty_string)
                free(*field);
        *field = copy;
        return 0;
}

static DataSourceConfig *config_find_source(TraceConfig *config, const char *name) {
        for (size_t i = 0; i < config->n_data_sources; i++) {
                DataSourceConfig *source = config->data_sources[i]->config;

                if (source && source->name && streq(source->name, name))
                        return source;
        }
        return NULL;
}

/* The data source of this name, which is added if need be. Returns NULL if memory has run out. */
static DataSourceConfig *config_get_source(TraceConfig *config, const char *name) {
        DataSourceConfig *source = config_find_source(config, name);
        DataSource *entry;

        if (source)
                return source;
        entry = repeated_append_new(&config->data_sources,
                                    &config->n_data_sources,
                                    DataSource,
                                    perfetto__protos__trace_config__data_source__init);
        if (!entry)
                return NULL;
        entry->config = malloc(sizeof(*entry->config));
        if (!entry->config)
                return NULL;
        perfetto__protos__data_source_config__init(entry->config);
        return string_set(&entry->config->name, name) < 0 ? NULL : entry->config;
}

static int config_add_sources(TraceConfig *config, char *const *sources) {
        for (; sources && *sources; sources++)
                if (!config_get_source(config, *sources))
                        return -ENOMEM;
        return 0;
}

static int config_add_events(TraceConfig *config, char *const *events) {
        DataSourceConfig *source;
        int r;

        if (!events || !*events)
                return 0;
        source = config_get_source(config, SOURCE_FTRACE);
        if (!source)
                return -ENOMEM;
        if (!source->ftrace_config) {
                source->ftrace_config = malloc(sizeof(*source->ftrace_config));
                if (!source->ftrace_config)
                        return -ENOMEM;
                perfetto__protos__ftrace_config__init(source->ftrace_config);
        }
        for (; *events; events++) {
                r = strings_append(&source->ftrace_config->ftrace_events,
                                   &source->ftrace_config->n_ftrace_events,
                                   *events);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Categories that match no rule are enabled, so a list of categories begins by disabling everything. If the config
 * has rules already, the list is only appended. */
static int config_add_categories(TraceConfig *config, char *const *categories) {
        Perfetto__Protos__TrackEventConfig *track_events;
        DataSourceConfig *source;
        int r;

        if (!categories || !*categories)
                return 0;
        source = config_get_source(config, SOURCE_TRACK_EVENT);
        if (!source)
                return -ENOMEM;
        if (!source->track_event_config) {
                source->track_event_config = malloc(sizeof(*track_events));
                if (!source->track_event_config)
                        return -ENOMEM;
                perfetto__protos__track_event_config__init(source->track_event_config);
        }
        track_events = source->track_event_config;
        if (track_events->n_disabled_categories == 0 && track_events->n_enabled_categories == 0) {
                r = strings_append(&track_events->disabled_categories,
                                   &track_events->n_disabled_categories,
                                   "*");
                if (r < 0)
                        return r;
        }
        for (; *categories; categories++) {
                r = strings_append(&track_events->enabled_categories,
                                   &track_events->n_enabled_categories,
                                   *categories);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int config_set_fill_policy(BufferConfig *buffer, const char *policy, sd_bus_error *error) {
        if (!policy)
                return 0;
        if (!streq(policy, "ring") && !streq(policy, "discard"))
                return bus_error_set(
                        error,
                        BUS_ERROR_BAD_CONFIG,
                        "option \"fill-policy\" is \"%s\"; it must be \"ring\" or \"discard\"",
                        policy);
        buffer->has_fill_policy = true;
        buffer->fill_policy =
                streq(policy, "ring")
                        ? PERFETTO__PROTOS__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__RING_BUFFER
                        : PERFETTO__PROTOS__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD;
        return 0;
}

static int
config_set_buffer(TraceConfig *config, const StartOptions *options, sd_bus_error *error) {
        BufferConfig *buffer;

        if (config->n_buffers == 0) {
                buffer = repeated_append_new(&config->buffers,
                                             &config->n_buffers,
                                             BufferConfig,
                                             perfetto__protos__trace_config__buffer_config__init);
                if (!buffer)
                        return -ENOMEM;
                buffer->has_size_kb = true;
                buffer->size_kb = START_BUFFER_KB_DEFAULT;
        }
        buffer = config->buffers[0];
        if (options->buffer_size_kb > 0) {
                buffer->has_size_kb = true;
                buffer->size_kb = options->buffer_size_kb;
        }
        return config_set_fill_policy(buffer, options->fill_policy, error);
}

static int config_apply(TraceConfig *config, const StartOptions *options, sd_bus_error *error) {
        int r;

        r = config_add_sources(config, options->sources);
        if (r < 0)
                return r;
        r = config_add_events(config, options->events);
        if (r < 0)
                return r;
        r = config_add_categories(config, options->categories);
        if (r < 0)
                return r;
        if (options->duration_ms > 0) {
                config->has_duration_ms = true;
                config->duration_ms = options->duration_ms;
        }
        if (options->name) {
                r = string_set(&config->unique_session_name, options->name);
                if (r < 0)
                        return r;
        }
        return config_set_buffer(config, options, error);
}

/* An error in the config itself, with its place in the text. */
static int set_config_error(sd_bus_error *error, const char *option, const ConfigError *why) {
        if (why->line > 0)
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "option \"%s\", line %u, column %u: %s",
                                     option,
                                     why->line,
                                     why->column,
                                     why->message);
        return bus_error_set(
                error, BUS_ERROR_BAD_CONFIG, "option \"%s\": %s", option, why->message);
}

/* *ret stays NULL if no complete config was given. */
static int options_base(Config **ret, const StartOptions *options, sd_bus_error *error) {
        const int n_given = !!options->preset + !!options->config_text + !!options->config.data;
        ConfigError why = {};
        int r = 0;

        if (n_given > 1)
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "the options \"preset\", \"config-text\" and \"config\" are "
                                     "mutually exclusive; pass only one");
        if (options->preset)
                r = preset_load(ret, options->preset, &why);
        else if (options->config_text)
                r = config_new_from_text(ret, options->config_text, &why);
        else if (options->config.data)
                r = config_new_from_bytes(ret, options->config.data, options->config.n, &why);
        if (r <= 0)
                return r;
        return set_config_error(error,
                                options->preset        ? "preset"
                                : options->config_text ? "config-text"
                                                       : "config",
                                &why);
}

static bool options_change_config(const StartOptions *options) {
        return options->sources || options->events || options->categories ||
               options->buffer_size_kb > 0 || options->duration_ms > 0 || options->fill_policy ||
               options->name;
}

static int options_scope(PolicyScope *ret, const StartOptions *options, sd_bus_error *error) {
        if (!options->scope)
                *ret = POLICY_SCOPE_DEFAULT;
        else if (streq(options->scope, "own"))
                *ret = POLICY_SCOPE_OWN;
        else if (streq(options->scope, "system"))
                *ret = POLICY_SCOPE_SYSTEM;
        else
                return bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "option \"scope\" is \"%s\"; it must be \"own\" or \"system\"",
                                     options->scope);
        return 0;
}

int start_options_to_config(Config **ret,
                            PolicyScope *ret_scope,
                            const StartOptions *options,
                            sd_bus_error *error) {
        _cleanup_(trace_config_freep) TraceConfig *message = NULL;
        _cleanup_(config_freep) Config *base = NULL;
        int r;

        r = options_scope(ret_scope, options, error);
        if (r < 0)
                return r;
        r = options_base(&base, options, error);
        if (r < 0)
                return r;
        if (base && !options_change_config(options)) {
                *ret = TAKE(base);
                return 0;
        }

        message = perfetto__protos__trace_config__unpack(
                NULL, base ? base->n_bytes : 0, base ? base->bytes : (const uint8_t *)"");
        if (!message)
                return -ENOMEM;
        r = config_apply(message, options, error);
        if (r < 0)
                return r;
        r = config_new_from_message(ret, message);
        return r > 0 ? bus_error_set(error,
                                     BUS_ERROR_BAD_CONFIG,
                                     "the options do not form a valid trace config")
                     : r;
}
