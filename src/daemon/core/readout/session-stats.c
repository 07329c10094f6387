/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Numbers about a session: TraceStats for the trace, and totals for people. */

#include "core/readout/session-stats.h"
#include "core/model/bytes-writer.h"
#include "core/model/service.h"
#include "core/model/session-output.h"
#include "core/model/session.h"

/* Fields of perfetto.protos.TraceStats.BufferStats, and where they come from. */
static const struct {
        uint32_t field;
        size_t offset;
} buffer_fields[] = {
        { 12, offsetof(TraceBufferStats, buffer_bytes) },
        { 1, offsetof(TraceBufferStats, bytes_written) },
        { 13, offsetof(TraceBufferStats, bytes_overwritten) },
        { 14, offsetof(TraceBufferStats, bytes_read) },
        { 15, offsetof(TraceBufferStats, padding_bytes_written) },
        { 16, offsetof(TraceBufferStats, padding_bytes_cleared) },
        { 2, offsetof(TraceBufferStats, chunks_written) },
        { 10, offsetof(TraceBufferStats, chunks_rewritten) },
        { 3, offsetof(TraceBufferStats, chunks_overwritten) },
        { 18, offsetof(TraceBufferStats, chunks_discarded) },
        { 17, offsetof(TraceBufferStats, chunks_read) },
        { 20, offsetof(TraceBufferStats, chunks_relocated) },
        { 11, offsetof(TraceBufferStats, chunks_committed_out_of_order) },
        { 4, offsetof(TraceBufferStats, write_wrap_count) },
        { 7, offsetof(TraceBufferStats, readaheads_succeeded) },
        { 8, offsetof(TraceBufferStats, readaheads_failed) },
        { 5, offsetof(TraceBufferStats, patches_succeeded) },
        { 6, offsetof(TraceBufferStats, patches_failed) },
        { 9, offsetof(TraceBufferStats, abi_violations) },
        { 19, offsetof(TraceBufferStats, trace_writer_packet_loss) },
};

/* One message for each buffer, in the config's order, as readers number them. */
static void put_buffer_stats(WireWriter *writer, const TraceBufferStats *stats) {
        size_t begin = wire_begin(writer, 1);

        for (size_t i = 0; i < ARRAY_SIZE(buffer_fields); i++) {
                uint64_t value;

                memcpy(&value, (const uint8_t *)stats + buffer_fields[i].offset, sizeof(value));
                wire_put_uint(writer, buffer_fields[i].field, value);
        }
        wire_end(writer, begin);
}

/* The numbers have the meanings that perfetto.protos.TraceStats.FilterStats gives them. */
static void put_filter_stats(WireWriter *writer, const Session *session) {
        const TraceFilterStats *stats = trace_filter_stats(session->filter);
        size_t begin = wire_begin(writer, 11);

        wire_put_uint(writer, 1, stats->n_packets);
        wire_put_uint(writer, 2, stats->n_bytes_in);
        wire_put_uint(writer, 3, stats->n_bytes_out);
        wire_put_uint(writer, 4, stats->n_errors);
        for (size_t i = 0; i < session->n_buffers; i++)
                wire_put_uint(writer, 20, session->buffers[i].n_filtered);
        wire_end(writer, begin);
}

/* What there is of others is not for the session's owner to know. */
static uint64_t session_count_visible(const Session *session, CensusWhat what) {
        return service_count_visible(session->service, &session->options.owner, what);
}

void session_put_stats(Session *session, WireWriter *writer) {
        const struct {
                uint32_t field;
                uint64_t value;
        } numbers[] = {
                { 2, session_count_visible(session, CENSUS_PRODUCERS) },
                { 3, session_count_visible(session, CENSUS_PRODUCERS_SEEN) },
                { 4, session_count_visible(session, CENSUS_SOURCES) },
                { 5, session_count_visible(session, CENSUS_SOURCES_SEEN) },
                { 6, session_count_visible(session, CENSUS_SESSIONS) },
                { 7, session_count_visible(session, CENSUS_BUFFERS) },
                { 8, session->chunks_discarded },
                { 9, session->patches_discarded },
                { 10, session->reader.n_invalid },
                { 12, session->flushes_requested },
                { 13, session->flushes_succeeded },
                { 14, session->flushes_failed },
                { 15, session->final_flush },
        };

        for (size_t i = 0; i < session->n_buffers; i++)
                put_buffer_stats(writer, trace_buffer_stats(session->buffers[i].buffer));
        if (session->filter)
                put_filter_stats(writer, session);
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                wire_put_uint(writer, numbers[i].field, numbers[i].value);
}

/* Producers count for all their sessions together; each is asked once. */
static uint64_t count_dropped(const Session *session, bool only_for_good) {
        uint64_t n = session->producers_dropped, round = ++session->service->last_round;
        const SourceInstance *instance;

        list_for_each (instance, &session->instances, session_link) {
                Producer *producer = instance->producer;

                if (!producer || producer->last_round == round ||
                    (only_for_good && producer_can_be_left(producer)))
                        continue;
                producer->last_round = round;
                n = add_saturated(n, producer_n_dropped(producer) - instance->dropped_before);
        }
        return n;
}

uint64_t session_producers_dropped(const Session *session) {
        return count_dropped(session, false);
}

uint64_t session_producers_dropped_for_good(const Session *session) {
        return count_dropped(session, true);
}

/* Overwriting is a ring's way, and no loss unless it was to be written out before. */
void session_totals(const Session *session, SessionTotals *ret) {
        *ret = (SessionTotals){
                .bytes_output = session->reader.n_bytes,
                .packets_lost = add_saturated(session->reader.n_invalid,
                                              session_producers_dropped(session)),
        };
        for (size_t i = 0; i < session->n_buffers; i++) {
                const TraceBufferStats *stats = trace_buffer_stats(session->buffers[i].buffer);

                ret->bytes_written += stats->bytes_written;
                ret->chunks_lost += stats->chunks_discarded + stats->abi_violations;
                if (session_streams(session))
                        ret->chunks_lost += stats->chunks_overwritten;
        }
}

int session_append_stats(Session *session, Bytes *out) {
        WireWriter writer;

        bytes_writer_init(&writer, out);
        session_put_stats(session, &writer);
        return bytes_writer_finish(&writer, out);
}
