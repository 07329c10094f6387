/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recording: a session of the service, as a client has it */

#include <errno.h>
#include <stdio.h>

#include "scale.h"
#include "shared/names.h"

#define CONFIG_BYTES_MAX (32u << 10)

static void config_text(char ret[static CONFIG_BYTES_MAX], const RecordingOptions *options) {
        size_t n;

        n = (size_t)snprintf(ret,
                             CONFIG_BYTES_MAX,
                             "buffers { size_kb: %u }\n"
                             "%s\n",
                             options->buffer_kib,
                             options->sources
                                     ?: "data_sources { config { name: \"track_event\" } }");
        /* Without it a ring is written when the session stops. */
        if (options->output_fd >= 0 && options->period_ms > 0)
                n += (size_t)snprintf(ret + n,
                                      CONFIG_BYTES_MAX - n,
                                      "write_into_file: true\nfile_write_period_ms: %u\n",
                                      options->period_ms);
        if (options->compress)
                snprintf(ret + n, CONFIG_BYTES_MAX - n, "compression { zstd {} }\n");
}

static int append_options(sd_bus_message *call, const RecordingOptions *options) {
        char text[CONFIG_BYTES_MAX];
        int r;

        config_text(text, options);
        r = sd_bus_message_open_container(call, 'a', "{sv}");
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "{sv}", "config-text", "s", text);
        if (r < 0)
                return r;
        if (options->partial) {
                r = sd_bus_message_append(call, "{sv}", "partial", "b", true);
                if (r < 0)
                        return r;
        }
        if (options->output_fd >= 0) {
                r = sd_bus_message_append(call, "{sv}", "output", "h", options->output_fd);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(call);
}

void recording_start(Recording *recording, World *world, const RecordingOptions *options) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        const char *path;
        int r;

        r = sd_bus_message_new_method_call(world->bus,
                                           &call,
                                           TRACING_BUS_NAME,
                                           TRACING_PATH,
                                           TRACING_MANAGER_INTERFACE,
                                           "StartSession");
        if (r >= 0)
                r = append_options(call, options);
        if (r >= 0)
                r = sd_bus_call(world->bus, call, 0, &error, &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                die(error.message ?: "cannot start a session", r);
        recording->world = world;
        snprintf(recording->path, sizeof(recording->path), "%s", path);
}

/* How many entries an answer lists that says who was silent. */
static int count_silent(sd_bus_message *reply) {
        int n = 0;

        if (sd_bus_message_enter_container(reply, 'a', "(ssuu)") <= 0)
                return 0;
        while (sd_bus_message_skip(reply, "(ssuu)") >= 0 &&
               sd_bus_message_at_end(reply, false) >= 0) {
                n++;
                if (sd_bus_message_at_end(reply, false) > 0)
                        break;
        }
        return n;
}

static int recording_call(Recording *recording, const char *method, const char *types, ...) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        va_list arguments;
        int r;

        va_start(arguments, types);
        r = sd_bus_call_methodv(recording->world->bus,
                                TRACING_BUS_NAME,
                                recording->path,
                                TRACING_SESSION_INTERFACE,
                                method,
                                &error,
                                &reply,
                                types,
                                arguments);
        va_end(arguments);
        if (r < 0 && sd_bus_error_has_name(&error, TRACING_ERROR_PREFIX "Timeout"))
                return -ETIMEDOUT;
        if (r < 0)
                die(error.message ?: method, r);
        return count_silent(reply);
}

int recording_flush(Recording *recording) {
        return recording_call(recording, "Flush", "u", (uint32_t)0);
}

int recording_stop(Recording *recording) {
        return recording_call(recording, "Stop", "");
}

void recording_read_into(Recording *recording, int fd) {
        recording_call(recording, "ReadInto", "h", fd);
}

void recording_free(Recording *recording) {
        recording_call(recording, "Free", "");
}

void recording_clone(Recording *recording, Recording *ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        const char *path;
        int r;

        r = sd_bus_call_method(recording->world->bus,
                               TRACING_BUS_NAME,
                               recording->path,
                               TRACING_SESSION_INTERFACE,
                               "Clone",
                               &error,
                               &reply,
                               "a{sv}",
                               0);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                die(error.message ?: "cannot take a snapshot", r);
        ret->world = recording->world;
        snprintf(ret->path, sizeof(ret->path), "%s", path);
}

uint64_t recording_number(Recording *recording, const char *property) {
        uint64_t value = 0;
        int r;

        r = sd_bus_get_property_trivial(recording->world->bus,
                                        TRACING_BUS_NAME,
                                        recording->path,
                                        TRACING_SESSION_INTERFACE,
                                        property,
                                        NULL,
                                        't',
                                        &value);
        if (r < 0)
                die(property, r);
        return value;
}
