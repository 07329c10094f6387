/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace tracks: what slices and values of a counter are on
 *
 * Programs name their tracks by a number (uuid) that a descriptor explains; a slot is such a number. A slot
 * becomes a row when it is first used: the track of a thread or a process, or one that a program made. Of the
 * latter, siblings of one name are one group, unless they ask not to be: a slot takes a track of it on which
 * nothing is open.
 */

#include "trace/trace-args.h"
#include "trace/trace-store.h"
#include "trace/trace-threads.h"

#define TRACE_TRACK_PARENTS_MAX 100
#define TRACE_TRACK_GROUP_MAX   4096 /* tracks of one group; further ones share the last */

typedef enum TraceTrackUse {
        TRACE_TRACK_BEGIN,
        TRACE_TRACK_END,
        TRACE_TRACK_INSTANT,
} TraceTrackUse;

typedef struct TraceTrackInfo {
        uint64_t uuid, parent_uuid;
        bool has_pid, has_tid;
        int32_t pid, tid;
        uint32_t name, description;
        bool is_counter, is_incremental;
        bool is_alone;    /* not merged with siblings */
        bool is_separate; /* of a thread, but not the track that everybody else uses for it */
        uint32_t key;     /* merged with siblings of the same key rather than of the same name */
        uint32_t unit;
        uint32_t category;
        int64_t unit_multiplier;
} TraceTrackInfo;

/* A track that is known by what it is of. */
typedef struct TracePlainTrack {
        const char *type;
        uint32_t name;
        uint32_t unit;
        uint8_t kind;
        uint32_t utid, upid, cpu; /* or TRACE_NONE */
        const char *dimension;    /* what tells it from others of its type, by a text; or NULL */
        uint32_t value;
} TracePlainTrack;

typedef struct TraceTracks {
        TraceStore *store;
        TraceThreads *threads;
        TraceArgSets *sets;
        bool wants_args;
        TraceMap by_uuid;     /* → slot */
        uint64_t recent_uuid; /* the one that was asked for last */
        uint32_t recent_slot;
        bool has_recent;
        struct TrackSlot *slots;
        size_t n_slots, n_slots_allocated;
        TraceMap plain;  /* hash → row */
        TraceMap by_key; /* hash → group */
        struct TrackGroup *groups;
        size_t n_groups, n_groups_allocated;
        TraceMap thread_uuids, process_uuids; /* utid or upid → uuid of its descriptor */
        TraceArgs args;
        uint64_t n_conflicts;
} TraceTracks;

void trace_tracks_deinit(TraceTracks *tracks);

/* The slot of a number, or TRACE_NONE when there is no room. */
uint32_t trace_tracks_slot(TraceTracks *tracks, uint64_t uuid);
void trace_tracks_describe(TraceTracks *tracks, const TraceTrackInfo *info);
const TraceTrackInfo *trace_tracks_info(const TraceTracks *tracks, uint32_t slot);

/* The thread (utid) or process (upid) that the slot belongs to, which is one that lives now, or TRACE_NONE. Makes no
 * track. */
uint32_t trace_tracks_owner(TraceTracks *tracks, uint32_t slot);

/* The row of the track that an event is on; TRACE_NONE: there is no room, or its parents make a circle. */
uint32_t
trace_tracks_slice(TraceTracks *tracks, uint32_t slot, TraceTrackUse use, uint32_t event_name);
uint32_t trace_tracks_counter(TraceTracks *tracks, uint32_t slot);

uint32_t trace_tracks_plain(TraceTracks *tracks, const TracePlainTrack *track);

/* The one of what a thread does. */
uint32_t trace_tracks_thread(TraceTracks *tracks, uint32_t utid);

/* The slot that stands for a thread that an event names by its numbers. */
uint32_t trace_tracks_thread_slot(TraceTracks *tracks, int32_t tid, int32_t pid);

/* The slot that stands for an asynchronous event of Chromium's older format. */
uint32_t trace_tracks_async_slot(TraceTracks *tracks,
                                 uint64_t id,
                                 uint32_t scope,
                                 uint32_t name,
                                 int32_t pid);
