/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Flight recorder: a ring buffer that keeps recording, for snapshots of the last seconds */

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "client/flight-recorder.h"
#include "client/output-file.h"
#include "client/say.h"
#include "client/session-choice.h"
#include "client/snapshot-writer.h"
#include "client/time-option.h"
#include "shared/names.h"
#include "shared/text.h"

#define CLEAR_PERIOD_MS_MIN 500
#define CLEAR_PERIOD_MS_MAX 5000

/* A snapshot begins where writers started over. They do so four times within the wanted time, so that little of it is
 * lost. */
static uint32_t clear_period_ms(uint32_t before_ms) {
        return CLAMP(before_ms / 4, CLEAR_PERIOD_MS_MIN, CLEAR_PERIOD_MS_MAX);
}

static uint32_t buffer_kb(uint32_t before_ms) {
        uint64_t n_kb = (uint64_t)before_ms * (FLIGHT_BYTES_PER_SECOND >> 10) / 1000;

        return (uint32_t)MIN(n_kb, FLIGHT_BUFFER_KB_MAX);
}

static void apply_ring(const FlightRecorder *recorder, RecordRequest *request, bool keeps_config) {
        uint32_t before_ms = recorder->before_ms ? recorder->before_ms : FLIGHT_BEFORE_MS_DEFAULT;

        request->is_ring = true;
        if (!keeps_config)
                request->clear_period_ms = clear_period_ms(before_ms);
        if (!request->buffer_kb && recorder->before_ms &&
            buffer_kb(before_ms) > record_request_buffer_kb(request))
                request->buffer_kb = buffer_kb(before_ms);
}

static void apply_triggers(const FlightRecorder *recorder, RecordRequest *request) {
        request->triggers = recorder->triggers;
        request->trigger_delay_ms = recorder->after_ms;
        if (recorder->before_ms)
                request->snapshot_before_ms = recorder->before_ms + recorder->after_ms;
        request->trigger_timeout_ms =
                request->duration_ms ? (uint32_t)request->duration_ms : FLIGHT_DURATION_MS_MAX;
        request->duration_ms = 0; /* triggers have their own */
}

void flight_recorder_apply(const FlightRecorder *recorder,
                           RecordRequest *request,
                           bool keeps_config) {
        bool has_end =
                request->duration_ms || (request->config && request->config->pb->duration_ms);

        apply_ring(recorder, request, keeps_config);
        if (recorder->triggers) {
                apply_triggers(recorder, request);
                return;
        }
        request->is_detached = true;
        if (!request->name)
                request->name = FLIGHT_RECORDER_NAME;
        if (!has_end)
                request->duration_ms = FLIGHT_DURATION_MS_DEFAULT;
}

/*
 * Messages
 */

static uint32_t duration_ms(const RecordRequest *request) {
        if (request->duration_ms)
                return (uint32_t)request->duration_ms;
        return request->config ? request->config->pb->duration_ms : 0;
}

/* "Sun 22 Nov 04:55" */
static void format_end(char *text, size_t n_text, uint32_t after_ms) {
        time_t end = time(NULL) + after_ms / 1000;
        struct tm local;

        if (!localtime_r(&end, &local) || strftime(text, n_text, "%a %e %b %H:%M:%S", &local) == 0)
                *text = 0;
}

static void write_json(const RecordRequest *request, JsonMode mode, const char *number) {
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };

        json_writer_init(&writer, mode);
        json_begin_object(&writer, NULL);
        json_uint(&writer, "id", g_ascii_strtoull(number, NULL, 10));
        json_string(&writer, "name", request->name);
        json_uint(&writer, "duration_ms", duration_ms(request));
        json_uint(&writer, "buffer_bytes", (uint64_t)record_request_buffer_kb(request) << 10);
        json_end_object(&writer);
        json_writer_print(&writer);
}

static void say_commands(const FlightRecorder *recorder,
                         const RecordRequest *request,
                         const Invocation *invocation) {
        g_autofree char *name = say_shell_word(request->name);
        bool is_default = streq(request->name, FLIGHT_RECORDER_NAME);
        const char *bus = invocation_bus_option(invocation);
        char before[TIME_OPTION_BYTES] = "";

        if (recorder->before_ms)
                time_option_format(before, recorder->before_ms);
        fprintf(stderr,
                _("  desktrace snapshot%s%s%s%s%s\n      saves the most recent data to a file; "
                  "recording continues\n  desktrace stop%s %s\n      stops it; with -o FILE, saves "
                  "its data first\n"),
                bus,
                *before ? " --before " : "",
                before,
                is_default ? "" : " ",
                is_default ? "" : name,
                bus,
                name);
}

void flight_recorder_say_left(const FlightRecorder *recorder,
                              const RecordRequest *request,
                              const Invocation *invocation,
                              const char *session_path) {
        const char *number = session_path_number(session_path);
        char end[64], size[TEXT_SIZE_BYTES];

        if (invocation->json != JSON_OFF)
                write_json(request, invocation->json, number);
        else
                puts(number);
        if (invocation->is_quiet)
                return;
        format_end(end, sizeof(end), duration_ms(request));
        fprintf(stderr,
                _("The flight recorder is running as session %s, \"%s\". It keeps the newest %s in "
                  "memory and stops automatically at %s.\n"),
                number,
                request->name,
                text_format_size(size, (uint64_t)record_request_buffer_kb(request) << 10),
                end);
        say_commands(recorder, request, invocation);
}

void flight_recorder_say_waiting(const char *trigger,
                                 const Invocation *invocation,
                                 const char *socket,
                                 const char *output) {
        g_autofree char *word = say_shell_word(trigger), *command = NULL;
        g_autofree char *first = output_file_numbered_path(output, 1);

        if (invocation->is_quiet)
                return;
        if (socket) {
                g_autofree char *quoted = say_shell_word(socket);

                command = g_strdup_printf(
                        TRACING_ENV_SOCKET "=%s desktrace trigger %s", quoted, word);
        } else
                command = g_strdup_printf(
                        "desktrace trigger%s %s", invocation_bus_option(invocation), word);
        fprintf(stderr,
                _("The flight recorder is running. Each trigger writes a file: %s and so on. "
                  "Ctrl-C stops it.\n  %s\n"),
                first,
                command);
}
