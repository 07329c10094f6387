/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track encode: events into bytes */

#include <assert.h>

#include "lib/track-args.h"
#include "lib/track.h"
#include "shared/macro.h"
#include "smb/smb-writer.h"

/* Field numbers of perfetto.protos messages, in the order of their names. */
enum {
        CLOCK_ID = 1,
        CLOCK_TIMESTAMP = 2,
        CLOCK_IS_INCREMENTAL = 3,
        CLOCK_UNIT_MULTIPLIER_NS = 4,

        CLOCK_SNAPSHOT_CLOCKS = 1,
        CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK = 2,

        DEFAULTS_TRACK_EVENT = 11,
        DEFAULTS_TIMESTAMP_CLOCK_ID = 58,

        EVENT_CATEGORY_IIDS = 3,
        EVENT_TYPE = 9,
        EVENT_NAME_IID = 10,
        EVENT_TRACK_UUID = 11,
        EVENT_NAME = 23,
        EVENT_COUNTER_VALUE = 30,
        EVENT_DOUBLE_COUNTER_VALUE = 44,

        PACKET_CLOCK_SNAPSHOT = 6,
        PACKET_TIMESTAMP = 8,
        PACKET_TRACK_EVENT = 11,
        PACKET_INTERNED_DATA = 12,
        PACKET_SEQUENCE_FLAGS = 13,
        PACKET_CLOCK_ID = 58,
        PACKET_DEFAULTS = 59,
        PACKET_TRACK_DESCRIPTOR = 60,
};

const uint32_t track_packet_fields[TRACK_PACKET_FIELDS_N] = {
        PACKET_CLOCK_SNAPSHOT,
        PACKET_TRACK_EVENT,
        PACKET_TRACK_DESCRIPTOR,
};

enum {
        SEQUENCE_STATE_CLEARED = 1,
        SEQUENCE_NEEDS_STATE = 2,
};

enum {
        CLOCK_OF_BOOTTIME = 6,
        CLOCK_OF_SEQUENCE = 64, /* the first clock id that belongs to the sequence itself */
};

/* Timestamp and its clock, flags, type, category, track and name: seven fields of two bytes of tag at most. */
#define EVENT_HEAD_MAX (7 * (2 + WIRE_VARINT_MAX) + WIRE_TAG_MAX + 1)

/* In a short event these and a counter's value always fit, because numbers of names and categories are small. */
static_assert(2 * (1 + WIRE_VARINT_MAX) + 2 + 2 + 2 + 2 * (1 + 2) + 2 + WIRE_VARINT_MAX <=
                      SMB_WRITER_SMALL_MAX,
              "the head fits");
static_assert(INTERN_ENTRIES_MAX < 1 << 14 && DT_CATEGORIES_MAX < 1 << 14, "in two bytes");

/*
 * The start
 */

static void put_clock(WireWriter *packet, uint32_t id, uint64_t ns, bool is_incremental) {
        size_t clock = wire_begin(packet, CLOCK_SNAPSHOT_CLOCKS);

        wire_put_uint(packet, CLOCK_ID, id);
        wire_put_uint(packet, CLOCK_TIMESTAMP, ns);
        if (is_incremental) {
                wire_put_bool(packet, CLOCK_IS_INCREMENTAL, true);
                wire_put_uint(packet, CLOCK_UNIT_MULTIPLIER_NS, 1);
        }
        wire_end(packet, clock);
}

void track_encode_start(WireWriter *packet, const TrackThread *thread, uint64_t now_ns) {
        size_t outer, inner;

        wire_put_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
        outer = wire_begin(packet, PACKET_DEFAULTS);
        inner = wire_begin(packet, DEFAULTS_TRACK_EVENT);
        wire_put_uint(packet, EVENT_TRACK_UUID, thread->uuid);
        wire_end(packet, inner);
        wire_put_uint(packet, DEFAULTS_TIMESTAMP_CLOCK_ID, CLOCK_OF_SEQUENCE);
        wire_end(packet, outer);

        outer = wire_begin(packet, PACKET_CLOCK_SNAPSHOT);
        put_clock(packet, CLOCK_OF_BOOTTIME, now_ns, false);
        put_clock(packet, CLOCK_OF_SEQUENCE, now_ns, true);
        wire_put_uint(packet, CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK, CLOCK_OF_BOOTTIME);
        wire_end(packet, outer);
}

/*
 * Events
 */

static void put_counter_value(WireWriter *packet, TrackStream *stream, const TrackEvent *event) {
        TrackValue value = { event->is_double, event->int_value, event->double_value };

        track_counts_make_relative(stream, event->uuid, &value);
        if (value.is_double)
                wire_put_double(packet, EVENT_DOUBLE_COUNTER_VALUE, value.as_double);
        else
                wire_put_int(packet, EVENT_COUNTER_VALUE, value.as_int);
}

/* Writes what every event has, after checking once that there is room. Returns where the event's body begins. */
static size_t put_head(WireWriter *packet,
                       WireWriter *interned,
                       TrackStream *stream,
                       const TrackEvent *event,
                       uint64_t since_ns) {
        uint32_t name_iid = 0;
        size_t body;

        if (!wire_reserve(packet, EVENT_HEAD_MAX))
                return 0;
        if (UNLIKELY(event->time_ns > 0)) {
                packet->at = track_put_uint(packet->at, PACKET_TIMESTAMP, event->time_ns);
                packet->at = track_put_uint(packet->at, PACKET_CLOCK_ID, CLOCK_OF_BOOTTIME);
        } else
                packet->at = track_put_uint(packet->at, PACKET_TIMESTAMP, since_ns);
        packet->at = track_put_uint(packet->at, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
        body = wire_begin(packet, PACKET_TRACK_EVENT);
        packet->at = track_put_uint(packet->at, EVENT_TYPE, event->type);
        if (event->type != TRACK_EVENT_SLICE_END)
                packet->at =
                        track_put_uint(packet->at,
                                       EVENT_CATEGORY_IIDS,
                                       track_category_number(interned, stream, event->category));
        if (event->track)
                packet->at = track_put_uint(packet->at, EVENT_TRACK_UUID, event->uuid);
        if (event->name)
                name_iid =
                        track_number(interned, &stream->names, TRACK_INTERNED_NAMES, event->name);
        if (name_iid)
                packet->at = track_put_uint(packet->at, EVENT_NAME_IID, name_iid);
        else if (event->name)
                wire_put_bytes(packet, EVENT_NAME, event->name, track_text_bytes(event->name));
        return body;
}

void track_encode_event(WireWriter *packet,
                        WireWriter *interned,
                        TrackStream *stream,
                        const TrackEvent *event,
                        uint64_t since_ns) {
        size_t body = put_head(packet, interned, stream, event, since_ns);

        if (event->type == TRACK_EVENT_COUNTER)
                put_counter_value(packet, stream, event);
        if (event->n_args > 0)
                track_put_args(packet, interned, stream, event->args, event->n_args);
        wire_end(packet, body);
        if (wire_writer_size(interned) > 0)
                wire_put_bytes(
                        packet, PACKET_INTERNED_DATA, interned->start, wire_writer_size(interned));
}

/*
 * Short events
 */

static TrackRecent *recent_track(TrackStream *stream, const dt_track *track) {
        uint64_t address = (uintptr_t)track->name;

        return &stream->recent[(address ^ address >> 6 ^ track->id) % TRACK_RECENT];
}

static inline bool recent_is(const TrackRecent *recent, const dt_track *track) {
        return recent->name == track->name && recent->unit == track->unit &&
               recent->id == track->id && !track->parent &&
               strcmp(recent->name_text, track->name) == 0 &&
               (!track->unit || strcmp(recent->unit_text, track->unit) == 0);
}

void track_remember(TrackStream *stream, const TrackEvent *event) {
        const dt_track *track = event->track;
        const char *unit = track->unit ?: "";
        size_t n_name, n_unit;
        TrackRecent *recent;

        if (track->parent)
                return; /* its parents would have to be compared as well */
        recent = recent_track(stream, track);
        n_name = strnlen(track->name, sizeof(recent->name_text));
        n_unit = strnlen(unit, sizeof(recent->unit_text));
        if (n_name == sizeof(recent->name_text) || n_unit == sizeof(recent->unit_text))
                return;
        recent->name = track->name;
        recent->unit = track->unit;
        recent->id = track->id;
        memcpy(recent->name_text, track->name, n_name);
        recent->name_text[n_name] = '\0';
        memcpy(recent->unit_text, unit, n_unit);
        recent->unit_text[n_unit] = '\0';
        recent->n_field = (uint8_t)(track_put_uint(recent->field, EVENT_TRACK_UUID, event->uuid) -
                                    recent->field);
}

/* Returns NULL if the track was not used recently. */
static inline uint8_t *put_recent_track(uint8_t *at, TrackStream *stream, const dt_track *track) {
        const TrackRecent *recent = recent_track(stream, track);

        if (UNLIKELY(!recent_is(recent, track)))
                return NULL;
        memcpy(at,
               recent->field,
               sizeof(recent->field)); /* more bytes than needed, but a constant number */
        return at + recent->n_field;
}

static inline uint8_t *put_short_counter_value(uint8_t *at, const TrackEvent *event) {
        if (event->is_double) {
                uint64_t bits;

                memcpy(&bits, &event->double_value, sizeof(bits));
                return track_put_fixed64(at, EVENT_DOUBLE_COUNTER_VALUE, bits);
        }
        return track_put_uint(at, EVENT_COUNTER_VALUE, (uint64_t)event->int_value);
}

uint8_t *
track_encode_short(uint8_t *at, TrackStream *stream, const TrackEvent *event, uint64_t since_ns) {
        const uint8_t *end = at + SMB_WRITER_SMALL_MAX;
        uint8_t *body;
        uint32_t iid;

        at = track_put_uint(at, PACKET_TIMESTAMP, since_ns);
        at = track_put_uint(at, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
        *at++ = PACKET_TRACK_EVENT << 3 | WIRE_BYTES;
        body = ++at; /* after its size, which takes one byte because the whole packet's does */
        at = track_put_uint(at, EVENT_TYPE, event->type);
        if (event->type != TRACK_EVENT_SLICE_END) {
                if (UNLIKELY(!track_category_known(stream, event->category)))
                        return NULL;
                at = track_put_uint(at, EVENT_CATEGORY_IIDS, event->category->number + 1);
        }
        if (event->track) {
                at = put_recent_track(at, stream, event->track);
                if (UNLIKELY(!at))
                        return NULL;
        }
        if (event->name) {
                iid = intern_known(&stream->names, event->name);
                if (UNLIKELY(!iid))
                        return NULL;
                at = track_put_uint(at, EVENT_NAME_IID, iid);
        }
        if (event->type == TRACK_EVENT_COUNTER)
                at = put_short_counter_value(at, event);
        if (event->n_args > 0) {
                at = track_put_short_args(at, end, stream, event->args, event->n_args);
                if (UNLIKELY(!at))
                        return NULL;
        }
        body[-1] = (uint8_t)(at - body);
        return at;
}

void track_encode_tick(WireWriter *packet, uint64_t since_ns) {
        wire_put_uint(packet, PACKET_TIMESTAMP, since_ns);
        wire_put_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
}
