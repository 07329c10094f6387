/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A record request as the call of StartSession(): the user's config byte for byte, and behind it what the command line
 * means for it. Everything else is an option of the call.
 */

#include <errno.h>
#include <string.h>

#include "client/record-request.h"
#include "shared/names.h"
#include "wire/wire-reader.h"
#include "wire/wire-writer.h"

#define WRITE_PERIOD_MS \
        1000 /* for configs without a period of their own, so that a crash loses at most a second */
#define FLUSH_PERIOD_MS \
        5000 /* as the service would by itself; trace readers complain when nothing is said */

/* perfetto.protos.TraceConfig: what is added behind the user's config. The last value of a field counts. */
enum {
        TRACE_CONFIG_BUFFERS = 1,
        TRACE_CONFIG_DURATION_MS = 3,
        TRACE_CONFIG_WRITE_INTO_FILE = 8,
        TRACE_CONFIG_FILE_WRITE_PERIOD_MS = 9,
        TRACE_CONFIG_DEFERRED_START = 12,
        TRACE_CONFIG_FLUSH_PERIOD_MS = 13,
        TRACE_CONFIG_TRIGGER_CONFIG = 17,
        TRACE_CONFIG_INCREMENTAL_STATE_CONFIG = 21,
        BUFFER_CONFIG_SIZE_KB = 1,
        INCREMENTAL_STATE_CONFIG_CLEAR_PERIOD_MS = 1,
        TRIGGER_CONFIG_MODE = 1,
        TRIGGER_CONFIG_TRIGGERS = 2,
        TRIGGER_CONFIG_TIMEOUT_MS = 3,
        TRIGGER_NAME = 1,
        TRIGGER_STOP_DELAY_MS = 3,
        TRIGGER_MODE_CLONE_SNAPSHOT = 4,
};

#define OVERRIDES_BYTES \
        256 /* of all that is written behind a config, and again for each trigger besides its name */

static void put_triggers(WireWriter *writer, const RecordRequest *request) {
        size_t config = wire_begin(writer, TRACE_CONFIG_TRIGGER_CONFIG);

        wire_put_uint(writer, TRIGGER_CONFIG_MODE, TRIGGER_MODE_CLONE_SNAPSHOT);
        for (char **name = request->triggers; *name; name++) {
                size_t trigger = wire_begin(writer, TRIGGER_CONFIG_TRIGGERS);

                wire_put_string(writer, TRIGGER_NAME, *name);
                wire_put_uint(writer, TRIGGER_STOP_DELAY_MS, request->trigger_delay_ms);
                wire_end(writer, trigger);
        }
        wire_put_uint(writer, TRIGGER_CONFIG_TIMEOUT_MS, request->trigger_timeout_ms);
        wire_end(writer, config);
        if (request->config && request->config->pb->duration_ms)
                wire_put_uint(writer,
                              TRACE_CONFIG_DURATION_MS,
                              0); /* triggers have a limit of their own */
}

static void put_clear_period(WireWriter *writer, uint32_t period_ms) {
        size_t incremental = wire_begin(writer, TRACE_CONFIG_INCREMENTAL_STATE_CONFIG);

        wire_put_uint(writer, INCREMENTAL_STATE_CONFIG_CLEAR_PERIOD_MS, period_ms);
        wire_end(writer, incremental);
}

/* What the command line adds to the config itself: whether it is written out while it records. */
static void put_overrides(WireWriter *writer, const RecordRequest *request, bool is_streamed) {
        const Config *config = request->config;
        size_t buffer;

        if (!config) {
                buffer = wire_begin(writer, TRACE_CONFIG_BUFFERS);
                wire_put_uint(writer, BUFFER_CONFIG_SIZE_KB, BUFFER_KB_DEFAULT);
                wire_end(writer, buffer);
        }
        wire_put_bool(writer, TRACE_CONFIG_WRITE_INTO_FILE, is_streamed);
        if (is_streamed && !(config && config->pb->file_write_period_ms))
                wire_put_uint(writer, TRACE_CONFIG_FILE_WRITE_PERIOD_MS, WRITE_PERIOD_MS);
        if (is_streamed && !(config && config->pb->flush_period_ms))
                wire_put_uint(writer, TRACE_CONFIG_FLUSH_PERIOD_MS, FLUSH_PERIOD_MS);
        if (config && config->pb->deferred_start)
                wire_put_bool(writer, TRACE_CONFIG_DEFERRED_START, false);
        if (request->clear_period_ms)
                put_clear_period(writer, request->clear_period_ms);
        if (request->triggers)
                put_triggers(writer, request);
}

static size_t overrides_bytes_max(const RecordRequest *request) {
        size_t n = OVERRIDES_BYTES;

        for (char **name = request->triggers; name && *name; name++)
                n += strlen(*name) + OVERRIDES_BYTES;
        return n;
}

/* No message may occur twice: those that are set here are left out of the user's config. */
static bool is_replaced(const RecordRequest *request, uint32_t field) {
        return (field == TRACE_CONFIG_INCREMENTAL_STATE_CONFIG && request->clear_period_ms) ||
               (field == TRACE_CONFIG_TRIGGER_CONFIG && request->triggers);
}

static void append_kept_fields(GByteArray *bytes, const RecordRequest *request) {
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, request->config->bytes, request->config->n_bytes);
        while (wire_read(&reader, &field) > 0)
                if (!is_replaced(request, field.number))
                        g_byte_array_append(bytes, field.raw, (guint)field.n_raw);
}

static int append_config(sd_bus_message *message, const RecordRequest *request, bool is_streamed) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        size_t n_memory = overrides_bytes_max(request);
        g_autofree uint8_t *memory = g_malloc(n_memory);
        WireWriter writer;
        int r;

        wire_writer_init(&writer, memory, n_memory);
        put_overrides(&writer, request, is_streamed);
        if (wire_writer_failed(&writer))
                return -E2BIG;
        if (request->config)
                append_kept_fields(bytes, request);
        g_byte_array_append(bytes, memory, (guint)wire_writer_size(&writer));

        r = sd_bus_message_open_container(message, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", "config");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', "ay");
        if (r >= 0)
                r = sd_bus_message_append_array(message, 'y', bytes->data, bytes->len);
        for (int level = 0; level < 2 && r >= 0; level++)
                r = sd_bus_message_close_container(message);
        return r;
}

static int append_names(sd_bus_message *message, const char *option, const GPtrArray *names) {
        int r;

        if (names->len == 0)
                return 0;
        r = sd_bus_message_open_container(message, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", option);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', "as");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "s");
        for (guint i = 0; i < names->len && r >= 0; i++)
                r = sd_bus_message_append(message, "s", (const char *)g_ptr_array_index(names, i));
        for (int level = 0; level < 3 && r >= 0; level++)
                r = sd_bus_message_close_container(message);
        return r;
}

static int append_scalars(sd_bus_message *message, const RecordRequest *request, int output_fd) {
        int r = 0;

        if (request->buffer_kb)
                r = sd_bus_message_append(
                        message, "{sv}", "buffer-size-kb", "u", request->buffer_kb);
        if (r >= 0 && request->duration_ms)
                r = sd_bus_message_append(
                        message, "{sv}", "duration-ms", "u", (uint32_t)request->duration_ms);
        if (r >= 0 && request->is_ring)
                r = sd_bus_message_append(message, "{sv}", "fill-policy", "s", "ring");
        if (r >= 0 && request->name)
                r = sd_bus_message_append(message, "{sv}", "name", "s", request->name);
        if (r >= 0 && request->is_detached)
                r = sd_bus_message_append(message, "{sv}", "detach", "b", true);
        if (r >= 0 && request->snapshot_before_ms)
                r = sd_bus_message_append(
                        message, "{sv}", "snapshot-before-ms", "u", request->snapshot_before_ms);
        if (r >= 0) /* failures are read from the property Sources */
                r = sd_bus_message_append(message, "{sv}", "partial", "b", true);
        if (r >= 0 && output_fd >= 0)
                r = sd_bus_message_append(message, "{sv}", "output", "h", output_fd);
        return r;
}

int record_request_to_message(const RecordRequest *request,
                              const BusClient *client,
                              int output_fd,
                              sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = bus_client_new_call(
                client, &message, TRACING_PATH, TRACING_MANAGER_INTERFACE, "StartSession");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "{sv}");
        if (r >= 0)
                r = append_config(message, request, output_fd >= 0);
        if (r >= 0)
                r = append_names(message, "events", request->events);
        if (r >= 0)
                r = append_names(message, "sources", request->sources);
        if (r >= 0)
                r = append_names(message, "categories", request->categories);
        if (r >= 0)
                r = append_scalars(message, request, output_fd);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r < 0)
                return r;
        *ret = TAKE(message);
        return 0;
}
