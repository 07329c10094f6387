/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The writers to a session's buffers: for the trace (TraceProvenance, TraceStats.WriterStats) and for people.
 * A writer is known by the number that its packets carry, which it is given here if none was read yet.
 */

#include "core/readout/session-writers.h"
#include "core/events/service-packets.h"
#include "core/model/bytes-writer.h"
#include "core/model/service.h"
#include "core/model/session.h"

bool session_next_writer(Session *session, SessionWriterCursor *cursor, SessionWriter *ret) {
        for (; cursor->buffer < session->n_buffers;
             cursor->buffer++, cursor->at = (WriterCursor){}) {
                const TraceBuffer *buffer = session->buffers[cursor->buffer].buffer;

                while (trace_buffer_next_writer(buffer, &cursor->at, &ret->stats)) {
                        const ChunkOrigin *origin = &ret->stats.origin;

                        ret->buffer = cursor->buffer;
                        if (sequence_ids_get(&session->reader.sequences,
                                             origin->producer_id,
                                             origin->writer_id,
                                             &ret->sequence_id) == 0)
                                return true;
                }
        }
        return false;
}

/* Sequences { id = 1, producer_id = 2 } of one buffer. Returns how many. */
static size_t put_sequences(Session *session, size_t buffer, WireWriter *writer) {
        SessionWriterCursor cursor = { .buffer = buffer };
        SessionWriter info;
        size_t n = 0;

        for (; session_next_writer(session, &cursor, &info) && info.buffer == buffer; n++) {
                size_t begin = wire_begin(writer, 1);

                wire_put_uint(writer, 1, info.sequence_id);
                wire_put_uint(writer, 2, info.stats.origin.producer_id);
                wire_end(writer, begin);
        }
        return n;
}

/* Buffers { sequences = 1 }. */
static int put_provenance(Session *session, Bytes *out, size_t *ret_n) {
        _cleanup_(bytes_deinit) Bytes buffers = {};
        WireWriter writer;
        int r;

        *ret_n = 0;
        bytes_writer_init(&writer, &buffers);
        for (size_t i = 0; i < session->n_buffers; i++) {
                size_t begin = wire_begin(&writer, 2);

                *ret_n += put_sequences(session, i, &writer);
                wire_end(&writer, begin);
        }
        r = bytes_writer_finish(&writer, &buffers);
        if (r < 0)
                return r;
        return packet_put_provenance(
                out, &session->service->info, session->service->now, buffers.data, buffers.n);
}

int session_put_provenance(Session *session, Bytes *out) {
        return put_provenance(session, out, &session->reader.n_writers_said);
}

/* Writers come and go while a session streams; at the end all of them are known. */
int session_put_late_provenance(Session *session, Bytes *out) {
        SessionReader *reader = &session->reader;
        size_t before = out->n, n;
        int r;

        if (!reader->is_last_pass)
                return 0;
        r = put_provenance(session, out, &n);
        if (r < 0 || n == reader->n_writers_said)
                out->n = before;
        reader->n_writers_said = n;
        return r;
}

static void put_packed(WireWriter *writer,
                       uint32_t field,
                       const uint64_t values[static TRACE_BUFFER_HISTOGRAM_BUCKETS]) {
        size_t begin = wire_begin(writer, field);

        for (size_t i = 0; i < TRACE_BUFFER_HISTOGRAM_BUCKETS; i++)
                wire_put_varint(writer, values[i]);
        wire_end(writer, begin);
}

/* TraceStats: chunk_payload_histogram_def = 17 and writer_stats = 18. */
void session_put_writer_stats(Session *session, WireWriter *writer) {
        SessionWriterCursor cursor = {};
        SessionWriter info;

        for (size_t i = 0; i < ARRAY_SIZE(trace_buffer_histogram_bounds); i++)
                wire_put_uint(writer, 17, trace_buffer_histogram_bounds[i]);
        while (session_next_writer(session, &cursor, &info)) {
                size_t begin = wire_begin(writer, 18);

                wire_put_uint(writer, 1, info.sequence_id);
                put_packed(writer, 2, info.stats.n_chunks);
                put_packed(writer, 3, info.stats.n_bytes);
                wire_put_uint(writer, 4, info.buffer);
                wire_end(writer, begin);
        }
}
