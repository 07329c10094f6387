/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Session.GetBufferStats() and .GetWriterStats()
 */

#include "bus/object/bus-session.h"

static int
append_buffer_stats(sd_bus_message *reply, const char *name, const TraceBufferStats *stats) {
        const struct {
                const char *name;
                uint64_t value;
        } fields[] = {
                { "size", stats->buffer_bytes },
                { "bytes-written", stats->bytes_written },
                { "bytes-overwritten", stats->bytes_overwritten },
                { "bytes-read", stats->bytes_read },
                { "chunks-written", stats->chunks_written },
                { "chunks-overwritten", stats->chunks_overwritten },
                { "chunks-discarded", stats->chunks_discarded },
                { "chunks-read", stats->chunks_read },
                { "patches-succeeded", stats->patches_succeeded },
                { "patches-failed", stats->patches_failed },
                { "abi-violations", stats->abi_violations },
                { "writer-packet-loss", stats->trace_writer_packet_loss },
        };
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}", "name", "s", name);
        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(fields); i++)
                r = sd_bus_message_append(reply, "{sv}", fields[i].name, "t", fields[i].value);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

int bus_method_get_buffer_stats(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        BusSession *session = userdata;
        int r;

        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "a{sv}");
        for (size_t i = 0; r >= 0 && i < session_n_buffers(session->owned.session); i++)
                r = append_buffer_stats(reply,
                                        session_buffer_name(session->owned.session, i),
                                        session_buffer_stats(session->owned.session, i));
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static uint64_t sum(const uint64_t values[static TRACE_BUFFER_HISTOGRAM_BUCKETS]) {
        uint64_t total = 0;

        for (size_t i = 0; i < TRACE_BUFFER_HISTOGRAM_BUCKETS; i++)
                total += values[i];
        return total;
}

static int append_histogram(sd_bus_message *reply, const WriterStats *stats) {
        int r;

        r = sd_bus_message_open_container(reply, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(reply, "s", "chunk-sizes");
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'v', "at");
        if (r >= 0)
                r = sd_bus_message_append_array(
                        reply, 't', stats->n_chunks, sizeof(stats->n_chunks));
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_writer_stats(sd_bus_message *reply, const SessionWriter *writer) {
        const ChunkOrigin *origin = &writer->stats.origin;
        const struct {
                const char *name;
                uint64_t value;
        } fields[] = {
                { "buffer", writer->buffer },
                { "sequence", writer->sequence_id },
                { "producer", origin->producer_id },
                { "uid", origin->identity.uid },
                { "pid", (uint64_t)origin->identity.pid },
                { "chunks", sum(writer->stats.n_chunks) },
                { "bytes", sum(writer->stats.n_bytes) },
        };
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sv}");
        for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(fields); i++)
                r = sd_bus_message_append(reply, "{sv}", fields[i].name, "t", fields[i].value);
        if (r >= 0)
                r = append_histogram(reply, &writer->stats);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* There may be hundreds of thousands of writers, and nobody else is served while they are listed. */
#define WRITER_STATS_MAX 512

int bus_method_get_writer_stats(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        BusSession *session = userdata;
        SessionWriterCursor cursor = {};
        SessionWriter writer;
        size_t n = 0;
        int r;

        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "a{sv}");
        while (r >= 0 && n++ < WRITER_STATS_MAX &&
               session_next_writer(session->owned.session, &cursor, &writer))
                r = append_writer_stats(reply, &writer);
        if (r >= 0)
                r = sd_bus_message_close_container(reply);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}
