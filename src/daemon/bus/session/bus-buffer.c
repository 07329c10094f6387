/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The properties of a buffer, and which of its counters were signalled last. */

#include <errno.h>
#include <stdio.h>

#include "bus/link/bus-property.h"
#include "bus/object/bus-emit.h"
#include "bus/object/bus-session.h"
#include "bus/session/bus-buffer.h"

/* Properties that are counters, and the fields that hold them. */
static const struct {
        const char *property;
        size_t offset;
} buffer_counters[] = {
        { "BytesWritten", offsetof(TraceBufferStats, bytes_written) },
        { "BytesOverwritten", offsetof(TraceBufferStats, bytes_overwritten) },
        { "BytesRead", offsetof(TraceBufferStats, bytes_read) },
        { "PaddingBytesWritten", offsetof(TraceBufferStats, padding_bytes_written) },
        { "ChunksWritten", offsetof(TraceBufferStats, chunks_written) },
        { "ChunksRewritten", offsetof(TraceBufferStats, chunks_rewritten) },
        { "ChunksRelocated", offsetof(TraceBufferStats, chunks_relocated) },
        { "ChunksOverwritten", offsetof(TraceBufferStats, chunks_overwritten) },
        { "ChunksDiscarded", offsetof(TraceBufferStats, chunks_discarded) },
        { "ChunksRead", offsetof(TraceBufferStats, chunks_read) },
        { "ChunksOutOfOrder", offsetof(TraceBufferStats, chunks_committed_out_of_order) },
        { "WriteWraps", offsetof(TraceBufferStats, write_wrap_count) },
        { "PatchesSucceeded", offsetof(TraceBufferStats, patches_succeeded) },
        { "PatchesFailed", offsetof(TraceBufferStats, patches_failed) },
        { "AbiViolations", offsetof(TraceBufferStats, abi_violations) },
        { "WriterPacketLoss", offsetof(TraceBufferStats, trace_writer_packet_loss) },
};

static const TraceBufferStats *buffer_stats(const BusBuffer *buffer) {
        return session_buffer_stats(buffer->session->owned.session, buffer->index);
}

static uint64_t stats_at(const TraceBufferStats *stats, size_t offset) {
        uint64_t value;

        memcpy(&value, (const uint8_t *)stats + offset, sizeof(value));
        return value;
}

PROPERTY(get_index) {
        BusBuffer *buffer = userdata;

        return sd_bus_message_append(reply, "u", (uint32_t)buffer->index);
}

PROPERTY(get_name) {
        BusBuffer *buffer = userdata;

        return sd_bus_message_append(
                reply, "s", session_buffer_name(buffer->session->owned.session, buffer->index));
}

PROPERTY(get_size) {
        return sd_bus_message_append(reply, "t", buffer_stats(userdata)->buffer_bytes);
}

PROPERTY(get_counter) {
        for (size_t i = 0; i < ARRAY_SIZE(buffer_counters); i++)
                if (streq(buffer_counters[i].property, property))
                        return sd_bus_message_append(
                                reply,
                                "t",
                                stats_at(buffer_stats(userdata), buffer_counters[i].offset));
        return -EINVAL;
}

#define CONST SD_BUS_VTABLE_PROPERTY_CONST
#define COUNTER(name) \
        SD_BUS_PROPERTY(name, "t", get_counter, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)

const sd_bus_vtable bus_buffer_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Index", "u", get_index, 0, CONST),
        SD_BUS_PROPERTY("Name", "s", get_name, 0, CONST),
        SD_BUS_PROPERTY("Size", "t", get_size, 0, CONST),
        COUNTER("BytesWritten"),
        COUNTER("BytesOverwritten"),
        COUNTER("BytesRead"),
        COUNTER("PaddingBytesWritten"),
        COUNTER("ChunksWritten"),
        COUNTER("ChunksRewritten"),
        COUNTER("ChunksRelocated"),
        COUNTER("ChunksOverwritten"),
        COUNTER("ChunksDiscarded"),
        COUNTER("ChunksRead"),
        COUNTER("ChunksOutOfOrder"),
        COUNTER("WriteWraps"),
        COUNTER("PatchesSucceeded"),
        COUNTER("PatchesFailed"),
        COUNTER("AbiViolations"),
        COUNTER("WriterPacketLoss"),
        SD_BUS_VTABLE_END,
};

int bus_buffers_new(BusSession *session) {
        const size_t n = session_n_buffers(session->owned.session);

        session->buffers = calloc(n, sizeof(*session->buffers));
        if (!session->buffers)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                BusBuffer *buffer = &session->buffers[i];

                buffer->session = session;
                buffer->index = i;
                buffer->signalled = *buffer_stats(buffer);
                if (asprintf(&buffer->path, "%s/buffer/%zu", session->path, i) < 0) {
                        buffer->path = NULL;
                        return -ENOMEM;
                }
                session->n_buffers++;
        }
        return 0;
}

void bus_buffers_free(BusSession *session) {
        for (size_t i = 0; i < session->n_buffers; i++)
                free(session->buffers[i].path);
        free(session->buffers);
}

static void buffer_signal(BusBuffer *buffer) {
        const char *names[ARRAY_SIZE(buffer_counters) + 1] = {};
        const TraceBufferStats *stats = buffer_stats(buffer);
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(buffer_counters); i++)
                if (stats_at(stats, buffer_counters[i].offset) !=
                    stats_at(&buffer->signalled, buffer_counters[i].offset))
                        names[n++] = buffer_counters[i].property;
        if (n == 0)
                return;
        buffer->signalled = *stats;
        bus_emit_buffer_changed(buffer, names);
}

void bus_buffers_signal(BusSession *session) {
        for (size_t i = 0; i < session->n_buffers; i++)
                buffer_signal(&session->buffers[i]);
}

int bus_buffer_find(sd_bus *connection,
                    const char *path,
                    const char *interface,
                    void *userdata,
                    void **ret_found,
                    sd_bus_error *error) {
        Bus *bus = userdata;
        BusSession *session = bus_session_by_path(bus, path);

        if (!session || !bus->caller || !bus_session_is_visible(session, bus->caller))
                return 0;
        for (size_t i = 0; i < session->n_buffers; i++)
                if (streq(session->buffers[i].path, path)) {
                        *ret_found = &session->buffers[i];
                        return 1;
                }
        return 0;
}
