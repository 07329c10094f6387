/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Read-out, in passes
 *
 * A pass says first what the service has to say, then goes through the buffers in the config's order until each
 * has nothing more to give. A read that is cut short by max_bytes goes on in the same pass. The pass that begins after
 * the session has stopped is the last one, and ends with the statistics. Packets of producers are copied as
 * they are, with the trusted fields behind them: a reader takes the last one of a field.
 */

#include <errno.h>

#include "core/events/concurrent.h"
#include "core/events/extension.h"
#include "core/events/self-trace.h"
#include "core/events/service-packets.h"
#include "core/model/bytes-writer.h"
#include "core/model/session-filter.h"
#include "core/model/session.h"
#include "core/readout/session-put.h"
#include "core/readout/session-read.h"
#include "core/readout/session-stats.h"
#include "core/readout/session-writers.h"
#include "packet/packet-check.h"
#include "shared/error.h"

#define TRACE_PACKET_TAG 0x0a /* field 1 of perfetto.protos.Trace, length-delimited */
#define FRAME_BYTES_MAX  (1 + WIRE_VARINT_MAX)

/* Histograms of writers: what one takes, and what all may take of the room that outputs keep for a file's end. */
#define STATS_WRITER_BYTES  96
#define STATS_WRITERS_BYTES (32u << 10)
#define STATS_WRITERS_SHARE 16 /* of max_file_size_bytes */

static const Perfetto__Protos__TraceConfig__BuiltinDataSource *
session_builtin(const Session *session) {
        static const Perfetto__Protos__TraceConfig__BuiltinDataSource defaults =
                PERFETTO__PROTOS__TRACE_CONFIG__BUILTIN_DATA_SOURCE__INIT;

        return session->config->pb->builtin_data_sources ?: &defaults;
}

/*
 * Room: what one read may have
 */

typedef struct Room {
        Bytes *out;
        size_t start;     /* bytes before this read */
        size_t max_bytes; /* of this read */
        size_t n_dropped; /* bytes that were looked at for nothing: they count, so that a read always ends */
} Room;

static bool room_is_used_up(const Room *room) {
        return room->out->n - room->start + room->n_dropped >= room->max_bytes;
}

/* Carries out a step, and takes out of its packets what the filter does not let out. */
static int session_put(Session *session, Bytes *out, int (*step)(Session *, Bytes *)) {
        const size_t before = out->n;
        int r;

        r = step(session, out);
        if (r == 0 && session->filter)
                session_filter_apply(session->filter, out, before);
        return r;
}

/*
 * Service packets
 */

static int put_clocks(Session *session, Bytes *out) {
        uint32_t primary = session_builtin(session)->primary_trace_clock ?: CLOCK_ID_BOOTTIME;
        ClockSnapshot snapshot;
        int r = 0;

        while (r == 0 && clock_ring_take(&session->clocks, &snapshot))
                r = packet_put_clock_snapshot(out, &session->service->info, &snapshot, primary);
        return r;
}

static int put_marker(Session *session, Bytes *out) {
        if (!session->reader.marker_due)
                return 0;
        session->reader.marker_due = false;
        return packet_put_marker(out, &session->service->info);
}

/* Once in a trace. */
static int put_preamble(Session *session, Bytes *out) {
        const Perfetto__Protos__TraceConfig__BuiltinDataSource *builtin = session_builtin(session);
        const ServiceInfo *info = &session->service->info;
        int r = 0;

        if (session->reader.said_preamble)
                return 0;
        session->reader.said_preamble = true;
        if (!builtin->disable_trace_config)
                r = session_put_config(session, session->config, out);
        if (r == 0)
                r = packet_put_uuid(out, info, session->uuid);
        if (r == 0)
                r = session_put_descriptors(session, out);
        if (r == 0)
                r = session_put_provenance(session, out);
        if (r == 0 && !builtin->disable_system_info)
                r = packet_put_system_info(out, info);
        return r;
}

/* The config once more, as it was sent to change the first. */
static int put_change(Session *session, Bytes *out) {
        if (!session->change || session->reader.said_change ||
            session_builtin(session)->disable_trace_config)
                return 0;
        session->reader.said_change = true;
        return session_put_config(session, session->change, out);
}

static int put_events(Session *session, Bytes *out) {
        bool is_off = session_builtin(session)->disable_service_events;
        int r = 0;

        for (size_t i = 0; i < session->events.n && !is_off && r == 0; i++)
                r = packet_put_event(out, &session->service->info, &session->events.records[i]);
        event_list_clear(&session->events);
        return r;
}

/* A small file has no room at its end for what many writers did. */
static bool session_tells_writers(const Session *session) {
        uint64_t limit = session->config->pb->max_file_size_bytes;

        if (session_builtin(session)->disable_chunk_usage_histograms)
                return false;
        return !session->options.has_output || limit == 0 ||
               STATS_WRITER_BYTES * session->reader.sequences.n <=
                       MIN((uint64_t)STATS_WRITERS_BYTES, limit / STATS_WRITERS_SHARE);
}

static int put_trace_stats(Session *session, Bytes *out) {
        _cleanup_(bytes_deinit) Bytes stats = {};
        WireWriter writer;
        int r;

        if (!session->reader.stats_due)
                return 0;
        session->reader.stats_due = false;
        bytes_writer_init(&writer, &stats);
        session_put_stats(session, &writer);
        if (session_tells_writers(session))
                session_put_writer_stats(session, &writer);
        r = bytes_writer_finish(&writer, &stats);
        if (r < 0)
                return r;
        return packet_put_stats(
                out, &session->service->info, session->service->now, stats.data, stats.n);
}

/* The marker first: who reads on from there gets the clocks, too. */
static int session_begin_pass(Session *session, const Room *room) {
        static int (*const steps[])(Session *, Bytes *) = {
                put_marker, put_clocks,           put_preamble,
                put_change, session_put_triggers, session_put_late_provenance,
                put_events, concurrent_put,       session_put_notes,
        };
        SessionReader *reader = &session->reader;
        int r = 0;

        reader->in_pass = true;
        reader->is_last_pass = session->state == SESSION_STOPPED;
        reader->has_packets = false;
        reader->buffer = 0;
        reader->trust.producer_id = 0; /* who reads on from the marker hears every pid */
        for (size_t i = 0; i < session->n_buffers; i++)
                trace_buffer_begin_read(session->buffers[i].buffer);
        for (size_t i = 0; i < ARRAY_SIZE(steps) && r == 0; i++)
                r = session_put(session, room->out, steps[i]);
        return r;
}

static int session_end_pass(Session *session, const Room *room, uint64_t now) {
        SessionReader *reader = &session->reader;
        int r;

        if (reader->has_packets || reader->is_last_pass)
                event_list_add(&session->events, EVENT_READ_COMPLETED, now, NULL);
        r = session_put(session, room->out, put_events);
        if (r < 0)
                return r;
        reader->stats_due = reader->stats_due || reader->is_last_pass;
        r = put_trace_stats(session, room->out);
        if (r < 0)
                return r;
        reader->in_pass = false;
        reader->is_finished = reader->is_last_pass;
        return 0;
}

/*
 * Producers' packets
 */

/* Nearly every packet is of the same sequence as the one before, and misses nothing. */
static int session_find_trust(Session *session, const ChunkOrigin *origin) {
        SequenceTrust *trust = &session->reader.trust;
        int r;

        if (LIKELY(trust->producer_id == origin->producer_id &&
                   trust->writer_id == origin->writer_id))
                return 0;
        trust->producer_id = 0;
        trust->fields = (PacketTrust){ .uid = origin->identity.uid, .pid = origin->identity.pid };
        r = sequence_ids_get(&session->reader.sequences,
                             origin->producer_id,
                             origin->writer_id,
                             &trust->fields.sequence_id);
        if (r)
                return r;
        trust->producer_id = origin->producer_id;
        trust->writer_id = origin->writer_id;
        trust->n_encoded = packet_put_trust(trust->encoded, &trust->fields);
        trust->n_brief = packet_put_trust_brief(trust->encoded, &trust->fields);
        trust->said_pid = false;
        return 0;
}

/* A fifth of a small event would be its pid. Readers want to know that of who describes tracks; with events it is
 * enough to say it now and then: when another sequence goes on, and in each pass. A filter might take out just
 * those packets that have it. */
static size_t
session_trust_bytes(const Session *session, SequenceTrust *trust, uint32_t data_field) {
        bool is_brief = trust->said_pid && data_field == PACKET_TRACK_EVENT && !session->filter;

        trust->said_pid = true;
        return is_brief ? trust->n_brief : trust->n_encoded;
}

/* Most packets are so small that finding out how to copy them costs more than doing it: two pieces that may overlap. */
static inline uint8_t *put_bytes(uint8_t *at, const void *data, size_t n) {
        const uint8_t *from = data;

        if (LIKELY(n >= 16 && n <= 32)) {
                memcpy(at, from, 16);
                memcpy(at + n - 16, from + n - 16, 16);
        } else if (n >= 8 && n < 16) {
                memcpy(at, from, 8);
                memcpy(at + n - 8, from + n - 8, 8);
        } else {
                memcpy(at, from, n);
        }
        return at + n;
}

/* The trusted fields are copied with all the room they may take. */
static int append_packet(Bytes *out,
                         const TracePacket *packet,
                         const uint8_t trust[static PACKET_TRUST_BYTES_MAX],
                         size_t n_trust) {
        const size_t n_most = FRAME_BYTES_MAX + packet->n_bytes + PACKET_TRUST_BYTES_MAX;
        uint8_t *at;

        if (UNLIKELY(out->n_allocated - out->n < n_most) && bytes_reserve(out, n_most) < 0)
                return -ENOMEM;
        at = out->data + out->n;
        *at++ = TRACE_PACKET_TAG;
        at = wire_encode_varint(at, packet->n_bytes + n_trust);
        for (size_t i = 0; i < packet->n_slices; i++)
                at = put_bytes(at, packet->slices[i].iov_base, packet->slices[i].iov_len);
        memcpy(at, trust, PACKET_TRUST_BYTES_MAX);
        out->n = (size_t)(at + n_trust - out->data);
        return 0;
}

static int append_trusted_packet(Session *session,
                                 Bytes *out,
                                 const TracePacket *packet,
                                 const PacketFacts *facts) {
        SequenceTrust *trust = &session->reader.trust;
        PacketTrust fields = trust->fields;
        uint8_t encoded[PACKET_TRUST_BYTES_MAX];

        if (LIKELY(packet->loss == 0))
                return append_packet(out,
                                     packet,
                                     trust->encoded,
                                     session_trust_bytes(session, trust, facts->data_field));
        fields.loss = packet->loss | facts->dropped;
        memset(encoded, 0, sizeof(encoded));
        return append_packet(out, packet, encoded, packet_put_trust(encoded, &fields));
}

#define FILTER_COST_PER_BYTE \
        2 /* that a read may have: strings that take long are as good as long packets */

/* What is taken out still counts for the read: it took the time. */
static void session_filter_packet(Session *session, Room *room, size_t from) {
        const uint64_t cost = trace_filter_cost(session->filter);
        const size_t n = room->out->n;

        session_filter_apply(session->filter, room->out, from);
        session->buffers[session->reader.buffer].n_filtered += n - room->out->n;
        room->n_dropped += n - room->out->n;
        room->n_dropped +=
                (size_t)(trace_filter_cost(session->filter) - cost) / FILTER_COST_PER_BYTE;
}

static int session_put_packet(Session *session, Room *room, const TracePacket *packet) {
        PacketFacts facts;
        size_t n_before;
        int r;

        r = packet_check(packet->slices,
                         packet->n_slices,
                         session_rules_find(&session->reader.rules, packet->origin->producer_id),
                         &facts);
        if (r == 0)
                r = session_find_trust(session, packet->origin);
        if (r > 0) {
                session->reader.n_invalid++;
                room->n_dropped += packet->n_bytes + 1;
                return 0;
        }
        if (r < 0)
                return r;
        session->reader.has_packets = true;
        n_before = room->out->n;
        r = append_trusted_packet(session, room->out, packet, &facts);
        if (r == 0 && session->filter)
                session_filter_packet(session, room, n_before);
        return r;
}

/* 0: all buffers are at their end, or the room is used up. */
static int session_read_buffers(Session *session, Room *room) {
        SessionReader *reader = &session->reader;

        while (reader->buffer < session->n_buffers && !reader->is_full && !room_is_used_up(room)) {
                TracePacket packet;
                int r;

                r = trace_buffer_read(session->buffers[reader->buffer].buffer, &packet);
                if (r == TRACE_BUFFER_E_END) {
                        reader->buffer++;
                        continue;
                }
                if (r)
                        return error_fold(r);
                r = session_put_packet(session, room, &packet);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int session_read_on(Session *session, Room *room, uint64_t now) {
        SessionReader *reader = &session->reader;
        int r;

        if (!reader->in_pass) {
                r = session_begin_pass(session, room);
                if (r < 0)
                        return r;
        }
        r = session_read_buffers(session, room);
        if (r < 0)
                return r;
        if (reader->buffer < session->n_buffers && !reader->is_full)
                return 0;
        return session_end_pass(session, room, now);
}

int session_read(Session *session, size_t max_bytes, Bytes *out, bool *ret_more, uint64_t now) {
        Room room = { .out = out, .start = out->n, .max_bytes = MAX(max_bytes, (size_t)1) };
        const SelfSpan span = self_span_begin(session->service, 0);
        SessionReader *reader = &session->reader;
        int r;

        now = service_note_now(session->service, now);
        *ret_more = false;
        if (session_hides_data(session))
                reader->is_finished = session->state == SESSION_STOPPED;
        if (reader->is_finished || session_hides_data(session))
                return 0;

        r = session_read_on(session, &room, now);
        reader->n_bytes += out->n - room.start;
        self_read(session, &span, out->n - room.start, !reader->in_pass);
        if (r < 0)
                return r;
        *ret_more = reader->in_pass || (session->state == SESSION_STOPPED && !reader->is_finished);
        return 0;
}

uint64_t session_n_packets_read(const Session *session) {
        uint64_t n = 0;

        for (size_t i = 0; i < session->n_buffers; i++)
                n += trace_buffer_stats(session->buffers[i].buffer)->packets_read;
        return n;
}

/* Sequences are said by being used: a number stands for one writer only. */
uint64_t session_said(const Session *session) {
        const SessionReader *reader = &session->reader;

        return (uint64_t)(reader->sequences.n_before + reader->sequences.n) << 32 |
               (uint64_t)reader->n_notes_said << 1 | reader->said_preamble;
}
