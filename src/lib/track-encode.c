/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/track.h"
#include "shared/macro.h"

/* Field numbers of perfetto.protos messages, in the order of their names. */
enum {
        CLOCK_ID = 1,
        CLOCK_TIMESTAMP = 2,
        CLOCK_IS_INCREMENTAL = 3,
        CLOCK_UNIT_MULTIPLIER_NS = 4,

        CLOCK_SNAPSHOT_CLOCKS = 1,
        CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK = 2,

        COUNTER_UNIT_NAME = 6,

        ANNOTATION_NAME_IID = 1,
        ANNOTATION_BOOL = 2,
        ANNOTATION_UINT = 3,
        ANNOTATION_INT = 4,
        ANNOTATION_DOUBLE = 5,
        ANNOTATION_STRING = 6,
        ANNOTATION_POINTER = 7,
        ANNOTATION_NAME = 10,

        DEFAULTS_TRACK_EVENT = 11,
        DEFAULTS_TIMESTAMP_CLOCK_ID = 58,

        EVENT_CATEGORY_IIDS = 3,
        EVENT_DEBUG_ANNOTATIONS = 4,
        EVENT_TYPE = 9,
        EVENT_NAME_IID = 10,
        EVENT_TRACK_UUID = 11,
        EVENT_CATEGORIES = 22,
        EVENT_NAME = 23,
        EVENT_COUNTER_VALUE = 30,
        EVENT_DOUBLE_COUNTER_VALUE = 44,
        EVENT_FLOW_IDS = 47,
        EVENT_TERMINATING_FLOW_IDS = 48,

        INTERNED_CATEGORIES = 1,
        INTERNED_NAMES = 2,
        INTERNED_ARG_NAMES = 3,
        INTERNED_ENTRY_IID = 1,
        INTERNED_ENTRY_NAME = 2,

        PACKET_CLOCK_SNAPSHOT = 6,
        PACKET_TIMESTAMP = 8,
        PACKET_TRACK_EVENT = 11,
        PACKET_INTERNED_DATA = 12,
        PACKET_SEQUENCE_FLAGS = 13,
        PACKET_DEFAULTS = 59,
        PACKET_TRACK_DESCRIPTOR = 60,

        PROCESS_PID = 1,
        PROCESS_CMDLINE = 2,
        PROCESS_NAME = 6,

        THREAD_PID = 1,
        THREAD_TID = 2,
        THREAD_NAME = 5,

        TRACK_UUID = 1,
        TRACK_NAME = 2,
        TRACK_PROCESS = 3,
        TRACK_THREAD = 4,
        TRACK_PARENT_UUID = 5,
        TRACK_COUNTER = 8,
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
        CLOCK_OF_SEQUENCE = 64, /* the first of those that are a sequence's own */
};

#define KERNEL_NAME_BYTES 16

/* Timestamp, flags, type, category, track and name: six fields of two bytes of tag at most. */
#define EVENT_HEAD_MAX (6 * (2 + WIRE_VARINT_MAX) + WIRE_TAG_MAX + 1)

/* An argument's name by number, and a value or the size of a text. */
#define ARG_BYTES_MAX (2 * (1 + WIRE_VARINT_MAX))

#define NO_TEXT "(null)"

static size_t text_bytes(const char *text) {
        size_t n = strnlen(text, DT_TEXT_BYTES_MAX);

        /* Not in the middle of a character, which has at most four bytes. */
        if (n == DT_TEXT_BYTES_MAX)
                for (unsigned i = 0; i < 3 && ((uint8_t)text[n] & 0xc0) == 0x80; i++)
                        n--;
        return n;
}

/*
 * Descriptors
 */

uint64_t track_uuid(const dt_track *track) {
        uint64_t parent = track->parent ? track_uuid(track->parent) : track_process_uuid;
        uint64_t uuid = intern_hash(parent ^ track->id, track->name, text_bytes(track->name));

        if (track->unit)
                uuid = intern_hash(uuid, track->unit, text_bytes(track->unit));
        return uuid ?: 1;
}

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

/* The rest of a packet is its track descriptor; descriptors have the time of the packet before. */
static size_t begin_descriptor(WireWriter *packet, uint64_t uuid) {
        size_t descriptor;

        wire_put_uint(packet, PACKET_TIMESTAMP, 0);
        wire_put_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
        descriptor = wire_begin(packet, PACKET_TRACK_DESCRIPTOR);
        wire_put_uint(packet, TRACK_UUID, uuid);
        return descriptor;
}

void track_encode_thread(WireWriter *packet, const TrackThread *thread) {
        size_t descriptor = begin_descriptor(packet, thread->uuid);
        char kernel_name[KERNEL_NAME_BYTES] = "";
        size_t details;

        prctl(PR_GET_NAME, kernel_name);
        wire_put_uint(packet, TRACK_PARENT_UUID, track_process_uuid);
        details = wire_begin(packet, TRACK_THREAD);
        wire_put_int(packet, THREAD_PID, getpid());
        wire_put_int(packet, THREAD_TID, thread->tid);
        wire_put_string(packet, THREAD_NAME, thread->name[0] ? thread->name : kernel_name);
        wire_end(packet, details);
        wire_end(packet, descriptor);
}

static void put_cmdline(WireWriter *packet) {
        for (size_t at = 0; at < track_n_cmdline; at += strlen(track_cmdline + at) + 1)
                wire_put_string(packet, PROCESS_CMDLINE, track_cmdline + at);
}

void track_encode_process(WireWriter *packet) {
        size_t descriptor = begin_descriptor(packet, track_process_uuid);
        size_t details = wire_begin(packet, TRACK_PROCESS);

        wire_put_int(packet, PROCESS_PID, getpid());
        put_cmdline(packet);
        wire_put_string(packet, PROCESS_NAME, program_invocation_short_name);
        wire_end(packet, details);
        wire_end(packet, descriptor);
}

void track_encode_track(WireWriter *packet, const dt_track *track, bool is_counter) {
        size_t descriptor = begin_descriptor(packet, track_uuid(track));
        size_t counter;

        wire_put_bytes(packet, TRACK_NAME, track->name, text_bytes(track->name));
        wire_put_uint(packet,
                      TRACK_PARENT_UUID,
                      track->parent ? track_uuid(track->parent) : track_process_uuid);
        if (is_counter) {
                counter = wire_begin(packet, TRACK_COUNTER);
                if (track->unit)
                        wire_put_bytes(
                                packet, COUNTER_UNIT_NAME, track->unit, text_bytes(track->unit));
                wire_end(packet, counter);
        }
        wire_end(packet, descriptor);
}

/*
 * Events
 */

static void put_interned(WireWriter *interned, uint32_t field, uint32_t iid, const char *text) {
        size_t entry = wire_begin(interned, field);

        wire_put_uint(interned, INTERNED_ENTRY_IID, iid);
        wire_put_bytes(interned, INTERNED_ENTRY_NAME, text, text_bytes(text));
        wire_end(interned, entry);
}

/* The number of a name; 0: it can have none, and is written out. */
static uint32_t name_number(WireWriter *interned, Intern *names, uint32_t kind, const char *name) {
        uint32_t iid;
        int r;

        r = intern_text(names, name, DT_TEXT_BYTES_MAX, &iid);
        if (UNLIKELY(r == INTERN_E_FULL))
                return 0;
        if (UNLIKELY(r == INTERN_E_NEW))
                put_interned(interned, kind, iid, name);
        return iid;
}

static uint32_t
category_number(WireWriter *interned, TrackStream *stream, const dt_category *category) {
        uint64_t bit = UINT64_C(1) << (category->number % 64);
        uint64_t *known = &stream->categories[category->number / 64];

        if (UNLIKELY(!(*known & bit)))
                put_interned(interned, INTERNED_CATEGORIES, category->number + 1, category->name);
        *known |= bit;
        return category->number + 1;
}

/* Unchecked: the caller has reserved the room that an event's head needs, or an argument's without its text. */
static inline uint8_t *put_uint(uint8_t *at, uint32_t field, uint64_t value) {
        return wire_encode_varint(wire_encode_varint(at, (uint64_t)field << 3), value);
}

static inline uint8_t *put_fixed64(uint8_t *at, uint32_t field, uint64_t value) {
        at = wire_encode_varint(at, (uint64_t)field << 3 | WIRE_FIXED64);
        for (unsigned i = 0; i < sizeof(value); i++)
                *at++ = (uint8_t)(value >> (8 * i));
        return at;
}

static uint8_t *put_arg_value(uint8_t *at, const dt_arg *arg, size_t n_text) {
        switch (arg->type) {
        case DT_ARG_INT:
                return put_uint(at, ANNOTATION_INT, arg->value.as_uint);
        case DT_ARG_UINT:
                return put_uint(at, ANNOTATION_UINT, arg->value.as_uint);
        case DT_ARG_DOUBLE:
                return put_fixed64(at, ANNOTATION_DOUBLE, arg->value.as_uint);
        case DT_ARG_BOOL:
                return put_uint(at, ANNOTATION_BOOL, arg->value.as_uint);
        case DT_ARG_POINTER:
                return put_uint(at, ANNOTATION_POINTER, arg->value.as_uint);
        default:
                at = wire_encode_varint(at, ANNOTATION_STRING << 3 | WIRE_BYTES);
                at = wire_encode_varint(at, n_text);
                return (uint8_t *)mempcpy(at, arg->value.as_string ?: NO_TEXT, n_text);
        }
}

static size_t arg_text_bytes(const dt_arg *arg) {
        return arg->type == DT_ARG_STRING ? text_bytes(arg->value.as_string ?: NO_TEXT) : 0;
}

static void
put_arg(WireWriter *packet, WireWriter *interned, TrackStream *stream, const dt_arg *arg) {
        const char *name = arg->name ?: "";
        uint32_t iid = name_number(interned, &stream->arg_names, INTERNED_ARG_NAMES, name);
        size_t n_text = arg_text_bytes(arg);
        size_t annotation = wire_begin(packet, EVENT_DEBUG_ANNOTATIONS);

        if (!iid)
                wire_put_bytes(packet, ANNOTATION_NAME, name, text_bytes(name));
        if (!wire_reserve(packet, ARG_BYTES_MAX + n_text))
                return;
        if (iid)
                packet->at = put_uint(packet->at, ANNOTATION_NAME_IID, iid);
        packet->at = put_arg_value(packet->at, arg, n_text);
        wire_end(packet, annotation);
}

static void
put_args(WireWriter *packet, WireWriter *interned, TrackStream *stream, const TrackEvent *event) {
        for (size_t i = 0; i < event->n_args; i++) {
                const dt_arg *arg = &event->args[i];

                switch (arg->type) {
                case DT_ARG_NONE:
                        break;
                case DT_ARG_FLOW:
                        wire_put_fixed64(packet, EVENT_FLOW_IDS, arg->value.as_uint);
                        break;
                case DT_ARG_FLOW_END:
                        wire_put_fixed64(packet, EVENT_TERMINATING_FLOW_IDS, arg->value.as_uint);
                        break;
                default:
                        put_arg(packet, interned, stream, arg);
                        break;
                }
        }
}

static void put_counter_value(WireWriter *packet, const TrackEvent *event) {
        if (event->is_double)
                wire_put_double(packet, EVENT_DOUBLE_COUNTER_VALUE, event->double_value);
        else
                wire_put_int(packet, EVENT_COUNTER_VALUE, event->int_value);
}

/* What every event has, with one look at the room there is. Returns where the event's body begins. */
static size_t put_head(WireWriter *packet,
                       WireWriter *interned,
                       TrackStream *stream,
                       const TrackEvent *event,
                       uint64_t since_ns) {
        uint32_t name_iid = 0;
        size_t body;

        if (!wire_reserve(packet, EVENT_HEAD_MAX))
                return 0;
        packet->at = put_uint(packet->at, PACKET_TIMESTAMP, since_ns);
        packet->at = put_uint(packet->at, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
        body = wire_begin(packet, PACKET_TRACK_EVENT);
        packet->at = put_uint(packet->at, EVENT_TYPE, event->type);
        if (event->type != TRACK_EVENT_SLICE_END)
                packet->at = put_uint(packet->at,
                                      EVENT_CATEGORY_IIDS,
                                      category_number(interned, stream, event->category));
        if (event->track)
                packet->at = put_uint(packet->at, EVENT_TRACK_UUID, event->uuid);
        if (event->name)
                name_iid = name_number(interned, &stream->names, INTERNED_NAMES, event->name);
        if (name_iid)
                packet->at = put_uint(packet->at, EVENT_NAME_IID, name_iid);
        else if (event->name)
                wire_put_bytes(packet, EVENT_NAME, event->name, text_bytes(event->name));
        return body;
}

void track_encode_event(WireWriter *packet,
                        WireWriter *interned,
                        TrackStream *stream,
                        const TrackEvent *event,
                        uint64_t since_ns) {
        size_t body = put_head(packet, interned, stream, event, since_ns);

        if (event->type == TRACK_EVENT_COUNTER)
                put_counter_value(packet, event);
        put_args(packet, interned, stream, event);
        wire_end(packet, body);
        if (wire_writer_size(interned) > 0)
                wire_put_bytes(
                        packet, PACKET_INTERNED_DATA, interned->start, wire_writer_size(interned));
}

void track_encode_tick(WireWriter *packet, uint64_t since_ns) {
        wire_put_uint(packet, PACKET_TIMESTAMP, since_ns);
        wire_put_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
}
