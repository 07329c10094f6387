/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace tracks: the lines on which slices and the values of counters appear
 *
 * Programs refer to their tracks by a number (uuid) that a descriptor explains; a slot is such a number. A slot becomes
 * a row when it is first used: the track of a thread or a process, or one that a program made. Siblings of the latter
 * kind that have the same name form a group, unless they ask not to: a slot takes a track of the group on which nothing
 * is open.
 */

#include "trace/trace-args.h"
#include "trace/trace-store.h"
#include "trace/trace-threads.h"

#define TRACE_TRACK_PARENTS_MAX 100
#define TRACE_TRACK_GROUP_MAX   4096 /* tracks in one group; further slots share the last */

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
        bool is_state; /* but neither a counter nor the track of a process or thread */
        bool is_alone; /* not merged with siblings */
        bool is_separate; /* belongs to a thread, but is not the track that everybody else uses for it */
        uint32_t key; /* merged with siblings of the same key rather than of the same name */
        uint32_t unit;
        uint32_t category;
        int64_t unit_multiplier;
} TraceTrackInfo;

/* A track that is identified by what it shows. */
typedef struct TracePlainTrack {
        const char *type;
        uint32_t name;
        uint32_t unit;
        uint8_t kind;
        uint32_t utid, upid, cpu; /* or TRACE_NONE */
        const char *dimension;    /* a text that tells it from others of its type; or NULL */
        uint32_t value;
} TracePlainTrack;

typedef struct TraceTracks {
        TraceStore *store;
        TraceThreads *threads;
        TraceArgSets *sets;
        bool wants_args;
        TraceMap by_uuid;     /* → slot */
        uint64_t recent_uuid; /* the number that was asked for last */
        uint32_t recent_slot;
        bool has_recent;
        struct TrackSlot *slots;
        size_t n_slots, n_slots_allocated;
        TraceMap plain;  /* hash → row */
        TraceMap by_key; /* hash → group */
        struct TrackGroup *groups;
        size_t n_groups, n_groups_allocated;
        TraceMap thread_uuids, process_uuids; /* utid or upid → the uuid of its descriptor */
        TraceArgs args;
        uint64_t n_conflicts;
} TraceTracks;

void trace_tracks_deinit(TraceTracks *tracks);

/* The slot of a number, or TRACE_NONE if there is no room. */
uint32_t trace_tracks_slot(TraceTracks *tracks, uint64_t uuid);
void trace_tracks_describe(TraceTracks *tracks, const TraceTrackInfo *info);
const TraceTrackInfo *trace_tracks_info(const TraceTracks *tracks, uint32_t slot);

/* The living thread (utid) or process (upid) that the slot belongs to, or TRACE_NONE. Makes no track. */
uint32_t trace_tracks_owner(TraceTracks *tracks, uint32_t slot);

/* The row of the track that an event is on. Returns TRACE_NONE if there is no room or its parents form a circle. */
uint32_t
trace_tracks_slice(TraceTracks *tracks, uint32_t slot, TraceTrackUse use, uint32_t event_name);
uint32_t trace_tracks_counter(TraceTracks *tracks, uint32_t slot);
/* Likewise for a state, which `name` is. Also returns TRACE_NONE if the track is not one of states. */
uint32_t trace_tracks_state(TraceTracks *tracks, uint32_t slot, uint32_t name);

uint32_t trace_tracks_plain(TraceTracks *tracks, const TracePlainTrack *track);

/* The track that shows what a thread does. */
uint32_t trace_tracks_thread(TraceTracks *tracks, uint32_t utid);

/* The slot for a thread whose numbers an event has. */
uint32_t trace_tracks_thread_slot(TraceTracks *tracks, int32_t tid, int32_t pid);

/* The slot for an asynchronous event in Chromium's older format. */
uint32_t trace_tracks_async_slot(TraceTracks *tracks,
                                 uint64_t id,
                                 uint32_t scope,
                                 uint32_t name,
                                 int32_t pid);
