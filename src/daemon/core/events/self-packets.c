/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Encoding the events and tracks of the service itself. */

#include "core/events/self-packets.h"
#include "core/model/peer.h"
#include "wire/wire-writer.h"

#define CATEGORY               "desktrace"
#define SEQUENCE_STATE_CLEARED 1

/* Fields of TracePacket, TrackEvent, DebugAnnotation and TrackDescriptor in perfetto.protos. */
enum {
        PACKET_TIMESTAMP = 8,
        PACKET_TRACK_EVENT = 11,
        PACKET_SEQUENCE_FLAGS = 13,
        PACKET_TIMESTAMP_CLOCK_ID = 58,
        PACKET_TRACK_DESCRIPTOR = 60,

        EVENT_DEBUG_ANNOTATIONS = 4,
        EVENT_TYPE = 9,
        EVENT_TRACK_UUID = 11,
        EVENT_CATEGORIES = 22,
        EVENT_NAME = 23,
        EVENT_COUNTER_VALUE = 30,

        ANNOTATION_UINT = 3,
        ANNOTATION_NAME = 10,

        TRACK_UUID = 1,
        TRACK_NAME = 2,
        TRACK_PROCESS = 3,
        TRACK_PARENT_UUID = 5,
        TRACK_COUNTER = 8,
        PROCESS_PID = 1,
        PROCESS_NAME = 6,
        COUNTER_UNIT_NAME = 6,
};

static void packet_begin(WireWriter *writer, SelfPacket *ret, uint64_t ns) {
        wire_writer_init(writer, ret->bytes, sizeof(ret->bytes));
        wire_put_uint(writer, PACKET_TIMESTAMP, ns);
        wire_put_uint(writer, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_ID_BOOTTIME);
}

/* Text that does not fit is left out; none of our own names is that long. */
static void packet_end(const WireWriter *writer, SelfPacket *ret) {
        ret->n = wire_writer_failed(writer) ? 0 : wire_writer_size(writer);
}

static void put_note(WireWriter *writer, const SelfNote *note) {
        size_t begin = wire_begin(writer, EVENT_DEBUG_ANNOTATIONS);

        wire_put_string(writer, ANNOTATION_NAME, note->name);
        wire_put_uint(writer, ANNOTATION_UINT, note->number);
        wire_end(writer, begin);
}

void self_packet_event(SelfPacket *ret, const SelfEvent *event) {
        WireWriter writer;
        size_t begin;

        packet_begin(&writer, ret, event->ns);
        begin = wire_begin(&writer, PACKET_TRACK_EVENT);
        wire_put_uint(&writer, EVENT_TYPE, event->type);
        wire_put_uint(&writer, EVENT_TRACK_UUID, event->track);
        if (event->name) {
                wire_put_string(&writer, EVENT_CATEGORIES, CATEGORY);
                wire_put_string(&writer, EVENT_NAME, event->name);
        }
        if (event->type == SELF_COUNTER)
                wire_put_uint(&writer, EVENT_COUNTER_VALUE, event->value);
        for (size_t i = 0; i < event->n_notes; i++)
                put_note(&writer, &event->notes[i]);
        wire_end(&writer, begin);
        packet_end(&writer, ret);
}

void self_packet_process(SelfPacket *ret, uint64_t ns, pid_t pid, const char *name) {
        WireWriter writer;
        size_t begin, process;

        packet_begin(&writer, ret, ns);
        wire_put_uint(&writer, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
        begin = wire_begin(&writer, PACKET_TRACK_DESCRIPTOR);
        wire_put_uint(&writer, TRACK_UUID, SELF_TRACK_PROCESS);
        process = wire_begin(&writer, TRACK_PROCESS);
        wire_put_int(&writer, PROCESS_PID, pid);
        wire_put_string(&writer, PROCESS_NAME, name);
        wire_end(&writer, process);
        wire_end(&writer, begin);
        packet_end(&writer, ret);
}

void self_packet_track(SelfPacket *ret,
                       uint64_t ns,
                       uint64_t track,
                       const char *name,
                       const char *unit) {
        WireWriter writer;
        size_t begin, counter;

        packet_begin(&writer, ret, ns);
        begin = wire_begin(&writer, PACKET_TRACK_DESCRIPTOR);
        wire_put_uint(&writer, TRACK_UUID, track);
        wire_put_string(&writer, TRACK_NAME, name);
        wire_put_uint(&writer, TRACK_PARENT_UUID, SELF_TRACK_PROCESS);
        if (unit) {
                counter = wire_begin(&writer, TRACK_COUNTER);
                wire_put_string(&writer, COUNTER_UNIT_NAME, unit);
                wire_end(&writer, counter);
        }
        wire_end(&writer, begin);
        packet_end(&writer, ret);
}
