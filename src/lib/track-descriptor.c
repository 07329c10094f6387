/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Track descriptors: packets that introduce the program, its threads and its tracks */

#include <sys/prctl.h>

#include "lib/host-task.h"
#include "lib/track-details.h"
#include "lib/track-names.h"
#include "lib/track-text.h"
#include "lib/track.h"

/* Field numbers of perfetto.protos messages, in the order of their names. */
enum {
        COUNTER_CATEGORIES = 2,
        COUNTER_UNIT = 3,
        COUNTER_UNIT_MULTIPLIER = 4,
        COUNTER_IS_INCREMENTAL = 5,
        COUNTER_UNIT_NAME = 6,
        COUNTER_Y_AXIS_SHARE_KEY = 7,

        PACKET_TIMESTAMP = 8,
        PACKET_SEQUENCE_FLAGS = 13,
        PACKET_TRACK_DESCRIPTOR = 60,

        PROCESS_PID = 1,
        PROCESS_CMDLINE = 2,

        THREAD_PID = 1,
        THREAD_TID = 2,
        THREAD_NAME = 5,

        TRACK_UUID = 1,
        TRACK_NAME = 2,
        TRACK_PROCESS = 3,
        TRACK_THREAD = 4,
        TRACK_PARENT_UUID = 5,
        TRACK_COUNTER = 8,
        TRACK_CHILD_ORDERING = 11,
        TRACK_SIBLING_ORDER_RANK = 12,
        TRACK_DESCRIPTION = 14,
        TRACK_SIBLING_MERGE_BEHAVIOR = 15,
        TRACK_SIBLING_MERGE_KEY = 16,
        TRACK_STATE = 18,
        TRACK_PROCESS_ORDERING = 19,
        TRACK_THREAD_ORDERING = 20,
};

#define SEQUENCE_NEEDS_STATE 2
#define ORDERING_EXPLICIT    1

#define KERNEL_NAME_BYTES 16

/* Begins a packet of which the rest is a track descriptor. Descriptors have the time of the packet before. */
static size_t begin_descriptor(WireWriter *packet, uint64_t uuid) {
        size_t descriptor;

        wire_put_uint(packet, PACKET_TIMESTAMP, 0);
        wire_put_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
        descriptor = wire_begin(packet, PACKET_TRACK_DESCRIPTOR);
        wire_put_uint(packet, TRACK_UUID, uuid);
        return descriptor;
}

static void put_rank(WireWriter *packet, int32_t rank) {
        if (rank != 0)
                wire_put_int(packet, TRACK_SIBLING_ORDER_RANK, rank);
}

static void put_text(WireWriter *packet, uint32_t field, const char *text) {
        if (text)
                wire_put_bytes(packet, field, text, track_text_bytes(text));
}

void track_encode_root(WireWriter *packet) {
        size_t descriptor = begin_descriptor(packet, TRACK_ROOT_UUID);

        /* Both at once, because viewers keep the first value that they read. Without a rank, the position stays
         * unchanged. */
        wire_put_uint(packet, TRACK_PROCESS_ORDERING, ORDERING_EXPLICIT);
        wire_put_uint(packet, TRACK_THREAD_ORDERING, ORDERING_EXPLICIT);
        wire_end(packet, descriptor);
}

void track_encode_thread(WireWriter *packet, const TrackThread *thread) {
        size_t descriptor = begin_descriptor(packet, thread->uuid);
        char kernel_name[KERNEL_NAME_BYTES] = "";
        pid_t pid, tid;
        size_t details;

        prctl(PR_GET_NAME, kernel_name);
        wire_put_uint(packet, TRACK_PARENT_UUID, track_process_uuid);
        if (!host_task_get(thread->tid,
                           &pid,
                           &tid)) { /* the event then goes on another track, see startup-replay.c */
                wire_put_string(packet, TRACK_NAME, thread->name[0] ? thread->name : kernel_name);
                wire_end(packet, descriptor);
                return;
        }
        details = wire_begin(packet, TRACK_THREAD);
        wire_put_int(packet, THREAD_PID, pid);
        wire_put_int(packet, THREAD_TID, tid);
        wire_put_string(packet, THREAD_NAME, thread->name[0] ? thread->name : kernel_name);
        wire_end(packet, details);
        put_rank(packet, thread->rank);
        wire_end(packet, descriptor);
}

static void put_cmdline(WireWriter *packet) {
        for (size_t at = 0; at < track_n_cmdline; at += strlen(track_cmdline + at) + 1)
                wire_put_string(packet, PROCESS_CMDLINE, track_cmdline + at);
}

void track_encode_process(WireWriter *packet) {
        size_t descriptor = begin_descriptor(packet, track_process_uuid);
        size_t details = wire_begin(packet, TRACK_PROCESS);
        pid_t pid, tid;

        (void)host_task_get(0, &pid, &tid);
        wire_put_int(packet, PROCESS_PID, pid);
        put_cmdline(packet);
        track_names_put(packet);
        wire_end(packet, details);
        put_rank(packet, track_process_rank());
        wire_end(packet, descriptor);
}

/*
 * Tracks of the program's own
 */

static void put_categories(WireWriter *packet, const char *names) {
        while (names && *names) {
                size_t n = strcspn(names, ",");

                wire_put_bytes(packet, COUNTER_CATEGORIES, names, n);
                names += n;
                names += *names == ',';
        }
}

static void
put_counter(WireWriter *packet, const dt_track *track, const dt_track_details *details) {
        size_t counter = wire_begin(packet, TRACK_COUNTER);

        put_categories(packet, details->categories);
        if (details->unit != DT_UNIT_OTHER)
                wire_put_uint(packet, COUNTER_UNIT, details->unit);
        else
                put_text(packet, COUNTER_UNIT_NAME, track->unit);
        if (details->unit_multiplier != 0)
                wire_put_int(packet, COUNTER_UNIT_MULTIPLIER, details->unit_multiplier);
        if (details->is_incremental)
                wire_put_bool(packet, COUNTER_IS_INCREMENTAL, true);
        put_text(packet, COUNTER_Y_AXIS_SHARE_KEY, details->y_axis);
        wire_end(packet, counter);
}

static void put_details(WireWriter *packet, const dt_track_details *details) {
        put_text(packet, TRACK_DESCRIPTION, details->description);
        if (details->child_order != DT_ORDER_DEFAULT)
                wire_put_uint(packet, TRACK_CHILD_ORDERING, details->child_order);
        put_rank(packet, details->rank);
        if (details->merge != DT_MERGE_DEFAULT)
                wire_put_uint(packet, TRACK_SIBLING_MERGE_BEHAVIOR, details->merge);
        put_text(packet, TRACK_SIBLING_MERGE_KEY, details->merge_key);
}

void track_encode_track(WireWriter *packet,
                        TrackStream *stream,
                        const dt_track *track,
                        TrackKind kind) {
        uint64_t uuid = track_uuid(track, stream->thread_uuid);
        uint64_t parent = track_uuid(track->parent, stream->thread_uuid);
        size_t descriptor = begin_descriptor(packet, uuid);
        dt_track_details details;

        track_details_get(&details, track);
        details.is_incremental = kind == TRACK_KIND_COUNTER && details.is_incremental &&
                                 track_counts_add(stream, uuid);
        put_text(packet, TRACK_NAME, track->name);
        if (parent != TRACK_ROOT_UUID)
                wire_put_uint(packet, TRACK_PARENT_UUID, parent);
        put_details(packet, &details);
        if (kind == TRACK_KIND_STATES)
                wire_put_bytes(packet, TRACK_STATE, "", 0);
        if (kind == TRACK_KIND_COUNTER)
                put_counter(packet, track, &details);
        wire_end(packet, descriptor);
}
