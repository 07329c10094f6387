/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track writer: counters and events as tracks that every viewer draws, for data that has no packet type of its own */

#include <errno.h>
#include <stdlib.h>

#include "host/track-writer.h"
#include "shared/hash.h"

#define SLOTS_MIN 64

enum {
        TRACK_UUID = 1,
        TRACK_NAME = 2,
        TRACK_PROCESS = 3,
        TRACK_PARENT_UUID = 5,
        TRACK_COUNTER = 8,
        TRACK_CHILD_ORDERING = 11,
        CHILD_ORDERING_CHRONOLOGICAL = 2,
        COUNTER_UNIT = 3,
        PROCESS_PID = 1,
        PROCESS_NAME = 6,
        EVENT_ARGUMENTS = 4,
        EVENT_TYPE = 9,
        EVENT_TYPE_COUNTER = 4,
        EVENT_TRACK_UUID = 11,
        EVENT_CATEGORIES = 22,
        EVENT_NAME = 23,
        EVENT_COUNTER_VALUE = 30,
        EVENT_DOUBLE_COUNTER_VALUE = 44,
        EVENT_FLOW_IDS = 47,
        EVENT_TERMINATING_FLOW_IDS = 48,
        ARGUMENT_INT = 4,
        ARGUMENT_STRING = 6,
        ARGUMENT_NAME = 10,
};

static uint64_t track_hash(uint64_t parent, const char *name) {
        return hash_add_text(parent ^ HASH_BASIS, name) ?: 1;
}

void track_writer_init(TrackWriter *writer, PacketWriter *packets, const char *source) {
        *writer = (TrackWriter){
                .packets = packets,
                .root = track_hash(0, source),
                .says_cleared = true,
        };
}

void track_writer_deinit(TrackWriter *writer) {
        free(writer->slots);
        *writer = (TrackWriter){};
}

void track_writer_clear(TrackWriter *writer) {
        if (writer->n_slots > 0)
                memset(writer->slots, 0, writer->n_slots * sizeof(*writer->slots));
        writer->n_tracks = 0;
        writer->says_cleared = true;
        writer->n_cleared++;
}

/* The track's slot, or the free slot where it belongs. */
static TrackSlot *find_slot(TrackSlot *slots, size_t n_slots, uint64_t uuid) {
        size_t i = (uuid ^ uuid >> 32) & (n_slots - 1);

        while (slots[i].uuid && slots[i].uuid != uuid)
                i = (i + 1) & (n_slots - 1);
        return &slots[i];
}

static int writer_grow(TrackWriter *writer) {
        size_t n_slots = MAX(writer->n_slots * 2, (size_t)SLOTS_MIN);
        TrackSlot *slots;

        slots = calloc(n_slots, sizeof(*slots));
        if (!slots)
                return -ENOMEM;
        for (size_t i = 0; i < writer->n_slots; i++)
                if (writer->slots[i].uuid)
                        *find_slot(slots, n_slots, writer->slots[i].uuid) = writer->slots[i];
        free(writer->slots);
        writer->slots = slots;
        writer->n_slots = n_slots;
        return 0;
}

/* The slot of a track; its uuid is 0 if the track has not been described yet. Returns NULL if there is no room. */
static TrackSlot *writer_slot(TrackWriter *writer, uint64_t uuid) {
        TrackSlot *slot =
                writer->n_slots > 0 ? find_slot(writer->slots, writer->n_slots, uuid) : NULL;

        if (slot && slot->uuid)
                return slot;
        if (writer->n_tracks >= TRACKS_MAX)
                return NULL;
        if (writer->n_tracks * 2 >= writer->n_slots && writer_grow(writer) < 0)
                return NULL;
        return find_slot(writer->slots, writer->n_slots, uuid);
}

static WireWriter *writer_begin(TrackWriter *writer) {
        WireWriter *wire = packet_begin(writer->packets);

        wire_put_uint(wire,
                      PACKET_SEQUENCE_FLAGS,
                      writer->says_cleared ? PACKET_STATE_CLEARED : PACKET_NEEDS_STATE);
        return wire;
}

/* What a dropped packet described must be described again. */
static bool writer_end(TrackWriter *writer) {
        if (packet_end(writer->packets) < 0) {
                track_writer_clear(writer);
                return false;
        }
        writer->says_cleared = false;
        return true;
}

enum {
        KIND_GROUP = -1, /* a counter has its unit */
        KIND_TIMELINE = -2,
};

static bool
describe(TrackWriter *writer, uint64_t uuid, uint64_t parent, const char *name, int unit) {
        WireWriter *wire = writer_begin(writer);
        size_t begin, counter;

        begin = wire_begin(wire, PACKET_TRACK_DESCRIPTOR);
        wire_put_uint(wire, TRACK_UUID, uuid);
        wire_put_string(wire, TRACK_NAME, name);
        if (parent)
                wire_put_uint(wire, TRACK_PARENT_UUID, parent);
        if (unit == KIND_TIMELINE)
                wire_put_uint(wire, TRACK_CHILD_ORDERING, CHILD_ORDERING_CHRONOLOGICAL);
        if (unit >= 0) {
                counter = wire_begin(wire, TRACK_COUNTER);
                if (unit != TRACK_UNIT_NONE)
                        wire_put_uint(wire, COUNTER_UNIT, (uint64_t)unit);
                wire_end(wire, counter);
        }
        wire_end(wire, begin);
        return writer_end(writer);
}

static bool describe_process(TrackWriter *writer, uint64_t uuid, pid_t pid, const char *name) {
        WireWriter *wire = writer_begin(writer);
        size_t begin, process;

        begin = wire_begin(wire, PACKET_TRACK_DESCRIPTOR);
        wire_put_uint(wire, TRACK_UUID, uuid);
        process = wire_begin(wire, TRACK_PROCESS);
        wire_put_int(wire, PROCESS_PID, pid);
        wire_put_string(wire, PROCESS_NAME, name);
        wire_end(wire, process);
        wire_end(wire, begin);
        return writer_end(writer);
}

uint64_t track_process(TrackWriter *writer, uint64_t uuid, pid_t pid, const char *name) {
        TrackSlot *slot = writer_slot(writer, uuid);

        if (!slot) {
                writer->n_refused++;
                return 0;
        }
        if (!slot->uuid && describe_process(writer, uuid, pid, name)) {
                *slot = (TrackSlot){ .uuid = uuid };
                writer->n_tracks++;
        }
        return uuid;
}

/* A unit below 0 means that the track is not a counter. A group with the same name as a counter beside it, as a
 * cgroup can have, is another track. */
static uint64_t track_get(TrackWriter *writer, uint64_t parent, const char *name, int unit) {
        uint64_t uuid = track_hash((parent ?: writer->root) ^ (unit >= 0), name);
        TrackSlot *slot = writer_slot(writer, uuid);

        if (!slot) {
                writer->n_refused++;
                return 0;
        }
        if (!slot->uuid && describe(writer, uuid, parent, name, unit)) {
                *slot = (TrackSlot){ .uuid = uuid };
                writer->n_tracks++;
        }
        return uuid;
}

uint64_t track_group(TrackWriter *writer, uint64_t parent, const char *name) {
        return track_get(writer, parent, name, KIND_GROUP);
}

uint64_t track_timeline(TrackWriter *writer, uint64_t parent, const char *name) {
        return track_get(writer, parent, name, KIND_TIMELINE);
}

uint64_t track_counter(TrackWriter *writer, uint64_t parent, const char *name, TrackUnit unit) {
        return track_get(writer, parent, name, (int)unit);
}

/* Returns NULL if the track has not been described. */
static TrackSlot *described_slot(TrackWriter *writer, uint64_t track) {
        TrackSlot *slot = track && writer->n_slots > 0
                                  ? find_slot(writer->slots, writer->n_slots, track)
                                  : NULL;

        return slot && slot->uuid ? slot : NULL;
}

/* Begins a packet and its event; the result is for end_event(). */
static size_t
begin_event(TrackWriter *writer, WireWriter **ret, uint64_t track, uint64_t at_ns, unsigned type) {
        WireWriter *wire = writer_begin(writer);
        size_t begin;

        wire_put_uint(wire, PACKET_TIMESTAMP, at_ns);
        if (writer->clock_id)
                wire_put_uint(wire, PACKET_TIMESTAMP_CLOCK_ID, writer->clock_id);
        begin = wire_begin(wire, PACKET_TRACK_EVENT);
        wire_put_uint(wire, EVENT_TYPE, type);
        wire_put_uint(wire, EVENT_TRACK_UUID, track);
        *ret = wire;
        return begin;
}

static bool end_event(TrackWriter *writer, WireWriter *wire, size_t begin) {
        wire_end(wire, begin);
        return writer_end(writer);
}

/* Returns the track if its counter has another value than before; NULL: it does not, or there is no such track. */
static TrackSlot *changed_slot(TrackWriter *writer, uint64_t track, int64_t value) {
        TrackSlot *slot = described_slot(writer, track);

        return slot && slot->has_value && slot->value == value ? NULL : slot;
}

void track_count(TrackWriter *writer, uint64_t track, uint64_t now_ns, int64_t value) {
        TrackSlot *slot = changed_slot(writer, track, value);
        WireWriter *wire;
        size_t begin;

        if (!slot)
                return;
        begin = begin_event(writer, &wire, track, now_ns, EVENT_TYPE_COUNTER);
        wire_put_int(wire, EVENT_COUNTER_VALUE, value);
        if (!end_event(writer, wire, begin))
                return;
        slot->has_value = true;
        slot->value = value;
}

void track_count_double(TrackWriter *writer, uint64_t track, uint64_t now_ns, double value) {
        WireWriter *wire;
        TrackSlot *slot;
        size_t begin;
        int64_t bits;

        memcpy(&bits, &value, sizeof(bits));
        slot = changed_slot(writer, track, bits);
        if (!slot)
                return;
        begin = begin_event(writer, &wire, track, now_ns, EVENT_TYPE_COUNTER);
        wire_put_double(wire, EVENT_DOUBLE_COUNTER_VALUE, value);
        if (!end_event(writer, wire, begin))
                return;
        slot->has_value = true;
        slot->value = bits;
}

static void put_argument(WireWriter *wire, const TrackArgument *argument) {
        size_t begin = wire_begin(wire, EVENT_ARGUMENTS);

        wire_put_string(wire, ARGUMENT_NAME, argument->name);
        if (argument->text)
                wire_put_string(wire, ARGUMENT_STRING, argument->text);
        else
                wire_put_int(wire, ARGUMENT_INT, argument->number);
        wire_end(wire, begin);
}

static void put_flows(WireWriter *wire, uint32_t field, const uint64_t *flows, size_t n_flows) {
        for (size_t i = 0; i < n_flows; i++)
                wire_put_fixed64(wire, field, flows[i]);
}

bool track_event(TrackWriter *writer, const TrackEvent *event) {
        WireWriter *wire;
        size_t begin;

        if (!described_slot(writer, event->track))
                return false;
        begin = begin_event(writer, &wire, event->track, event->at_ns, event->type);
        for (size_t i = 0; i < event->n_arguments; i++)
                put_argument(wire, &event->arguments[i]);
        if (event->category)
                wire_put_string(wire, EVENT_CATEGORIES, event->category);
        if (event->name)
                wire_put_string(wire, EVENT_NAME, event->name);
        put_flows(wire, EVENT_FLOW_IDS, event->out, event->n_out);
        put_flows(wire, EVENT_TERMINATING_FLOW_IDS, event->in, event->n_in);
        return end_event(writer, wire, begin);
}

void track_instant(TrackWriter *writer,
                   uint64_t track,
                   uint64_t now_ns,
                   const char *name,
                   const TrackArgument *arguments,
                   size_t n_arguments) {
        (void)track_event(writer,
                          &(TrackEvent){
                                  .type = TRACK_EVENT_INSTANT,
                                  .track = track,
                                  .at_ns = now_ns,
                                  .name = name,
                                  .arguments = arguments,
                                  .n_arguments = n_arguments,
                          });
}

void track_state(TrackWriter *writer, uint64_t track, uint64_t now_ns, const char *name) {
        TrackSlot *slot = described_slot(writer, track);
        int64_t hash = (int64_t)track_hash(track, name);

        if (!slot || (slot->has_value && slot->value == hash) ||
            !track_event(writer, &(TrackEvent){ TRACK_EVENT_INSTANT, track, now_ns, .name = name }))
                return;
        slot->has_value = true;
        slot->value = hash;
}

void track_begin(TrackWriter *writer, uint64_t track, uint64_t at_ns, const char *name) {
        (void)track_event(writer, &(TrackEvent){ TRACK_EVENT_BEGIN, track, at_ns, .name = name });
}

void track_end(TrackWriter *writer, uint64_t track, uint64_t at_ns) {
        (void)track_event(writer, &(TrackEvent){ TRACK_EVENT_END, track, at_ns });
}

void track_slice(TrackWriter *writer,
                 uint64_t track,
                 uint64_t begin_ns,
                 uint64_t end_ns,
                 const char *name) {
        if (track_event(writer, &(TrackEvent){ TRACK_EVENT_BEGIN, track, begin_ns, .name = name }))
                (void)track_event(writer, &(TrackEvent){ TRACK_EVENT_END, track, end_ns });
}
