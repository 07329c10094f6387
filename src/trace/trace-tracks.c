/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace tracks: the lines on which slices and the values of counters appear */

#include "trace/trace-tracks.h"

#include <string.h>

#include "shared/siphash.h"

typedef enum TrackScope {
        TRACK_SCOPE_UNKNOWN, /* not resolved yet */
        TRACK_SCOPE_GLOBAL,
        TRACK_SCOPE_PROCESS,
        TRACK_SCOPE_THREAD,
        TRACK_SCOPE_BROKEN, /* its parents form a circle, or are too many */
} TrackScope;

typedef struct TrackSlot {
        TraceTrackInfo info;
        bool is_described;
        bool is_async; /* of Chromium's older format */
        bool is_root;  /* described as the track of its thread or process */
        bool is_busy;  /* being resolved */
        TrackScope scope;
        uint32_t owner; /* utid or upid */
        uint32_t row;   /* or TRACE_NONE */
        uint32_t group; /* or TRACE_NONE */
        uint32_t lane;  /* the track of its group that it had last */
} TrackSlot;

typedef struct TrackLane {
        uint32_t row;
        uint32_t slot; /* that has it */
        uint32_t n_open;
} TrackLane;

typedef struct TrackGroup {
        TrackLane *lanes;
        size_t n_lanes, n_allocated;
} TrackGroup;

void trace_tracks_deinit(TraceTracks *tracks) {
        for (size_t i = 0; i < tracks->n_groups; i++)
                free(tracks->groups[i].lanes);
        free(tracks->groups);
        free(tracks->slots);
        trace_map_deinit(&tracks->by_uuid);
        trace_map_deinit(&tracks->plain);
        trace_map_deinit(&tracks->by_key);
        trace_map_deinit(&tracks->thread_uuids);
        trace_map_deinit(&tracks->process_uuids);
        trace_args_deinit(&tracks->args);
        *tracks = (TraceTracks){ 0 };
}

static TraceTable *track_table(const TraceTracks *tracks) {
        return trace_store_table(tracks->store, TRACE_TABLE_TRACK);
}

static uint32_t tracks_text(TraceTracks *tracks, const char *text) {
        return trace_pool_add_text(&tracks->store->pool, text);
}

/*
 * Slots
 */

static uint32_t slot_add(TraceTracks *tracks, uint64_t key, uint64_t uuid) {
        uint32_t slot = (uint32_t)tracks->n_slots;

        if (tracks->n_slots >= TRACE_ROWS_MAX ||
            trace_reserve((void **)&tracks->slots,
                          &tracks->n_slots_allocated,
                          tracks->n_slots + 1,
                          sizeof(*tracks->slots)) ||
            trace_map_set(&tracks->by_uuid, key, slot)) {
                tracks->store->budget.is_over = true;
                return TRACE_NONE;
        }
        tracks->slots[tracks->n_slots++] = (TrackSlot){
                .info = { .uuid = uuid, .name = uuid ? 0 : tracks_text(tracks, "Default Track") },
                .owner = TRACE_NONE,
                .row = TRACE_NONE,
                .group = TRACE_NONE,
        };
        return slot;
}

uint32_t trace_tracks_slot(TraceTracks *tracks, uint64_t uuid) {
        uint64_t known;
        uint32_t slot;

        if (LIKELY(tracks->has_recent && tracks->recent_uuid == uuid))
                return tracks->recent_slot;
        known = trace_map_find(&tracks->by_uuid, uuid);
        slot = known == TRACE_MAP_NONE ? slot_add(tracks, uuid, uuid) : (uint32_t)known;
        tracks->recent_uuid = uuid;
        tracks->recent_slot = slot;
        tracks->has_recent = slot != TRACE_NONE;
        return slot;
}

const TraceTrackInfo *trace_tracks_info(const TraceTracks *tracks, uint32_t slot) {
        return &tracks->slots[slot].info;
}

static bool info_is_same(const TraceTrackInfo *x, const TraceTrackInfo *y) {
        return x->parent_uuid == y->parent_uuid && x->has_pid == y->has_pid &&
               x->has_tid == y->has_tid && x->pid == y->pid && x->tid == y->tid &&
               x->is_counter == y->is_counter && x->is_state == y->is_state &&
               x->is_alone == y->is_alone && x->key == y->key;
}

/* The first description stays. A later one may only add a name. */
void trace_tracks_describe(TraceTracks *tracks, const TraceTrackInfo *info) {
        uint32_t number = trace_tracks_slot(tracks, info->uuid);
        TrackSlot *slot;

        if (number == TRACE_NONE)
                return;
        slot = &tracks->slots[number];
        if (!slot->is_described) {
                slot->is_described = true;
                slot->info = *info;
                return;
        }
        if (!info_is_same(&slot->info, info)) {
                tracks->n_conflicts++;
                return;
        }
        if (!info->name || (slot->info.name && !info->is_alone))
                return;
        slot->info.name = info->name;
        if (info->is_alone && slot->row != TRACE_NONE)
                trace_table_set(track_table(tracks), TRACK_NAME, slot->row, info->name);
}

/*
 * Owners: the thread or process that a slot belongs to
 */

/* A further descriptor for a thread or process that has one already: its number is used again. */
static bool tracks_is_reused(TraceMap *uuids, uint32_t owner, uint64_t uuid) {
        uint64_t before = trace_map_find(uuids, owner);

        trace_map_set(uuids, owner, uuid >> 1);
        return before != TRACE_MAP_NONE && before != uuid >> 1;
}

static void slot_resolve_thread(TraceTracks *tracks, TrackSlot *slot) {
        const TraceTrackInfo *info = &slot->info;
        uint32_t utid = trace_threads_of(tracks->threads, info->tid, info->pid);

        if (utid != TRACE_NONE && tracks_is_reused(&tracks->thread_uuids, utid, info->uuid)) {
                trace_threads_start(tracks->threads, info->tid, TRACE_NO_TIME);
                utid = trace_threads_of(tracks->threads, info->tid, info->pid);
                if (utid != TRACE_NONE)
                        tracks_is_reused(&tracks->thread_uuids, utid, info->uuid);
        }
        slot->scope = utid == TRACE_NONE ? TRACK_SCOPE_GLOBAL : TRACK_SCOPE_THREAD;
        slot->owner = utid;
        slot->is_root = true;
}

static void slot_resolve_process(TraceTracks *tracks, TrackSlot *slot) {
        const TraceTrackInfo *info = &slot->info;
        uint32_t upid = trace_threads_process(tracks->threads, info->pid);

        if (upid != TRACE_NONE && tracks_is_reused(&tracks->process_uuids, upid, info->uuid)) {
                upid = trace_threads_start_process(tracks->threads, info->pid, TRACE_NO_TIME, 0);
                if (upid != TRACE_NONE)
                        tracks_is_reused(&tracks->process_uuids, upid, info->uuid);
        }
        slot->scope = upid == TRACE_NONE ? TRACK_SCOPE_GLOBAL : TRACK_SCOPE_PROCESS;
        slot->owner = upid;
        slot->is_root = true;
}

/* This goes as deep as the parents do, and those may form a circle. */
static TrackScope tracks_resolve(TraceTracks *tracks, uint32_t number, unsigned depth) {
        TrackSlot *slot = &tracks->slots[number];
        TrackScope scope = TRACK_SCOPE_GLOBAL;
        uint32_t parent;

        if (slot->scope != TRACK_SCOPE_UNKNOWN)
                return slot->scope;
        if (slot->is_busy || depth == TRACE_TRACK_PARENTS_MAX)
                return TRACK_SCOPE_BROKEN;
        slot->is_busy = true;
        parent = slot->info.parent_uuid ? trace_tracks_slot(tracks, slot->info.parent_uuid)
                                        : TRACE_NONE;
        if (parent != TRACE_NONE)
                scope = tracks_resolve(tracks, parent, depth + 1);
        slot = &tracks->slots[number];
        slot->is_busy = false;
        slot->scope = scope;
        if (scope == TRACK_SCOPE_BROKEN)
                return scope;
        if (slot->info.has_tid)
                slot_resolve_thread(tracks, slot);
        else if (slot->info.has_pid)
                slot_resolve_process(tracks, slot);
        else if (scope != TRACK_SCOPE_GLOBAL)
                slot->owner = tracks->slots[parent].owner;
        return slot->scope;
}

uint32_t trace_tracks_owner(TraceTracks *tracks, uint32_t slot) {
        if (slot == TRACE_NONE || tracks_resolve(tracks, slot, 0) == TRACK_SCOPE_BROKEN)
                return TRACE_NONE;
        return tracks->slots[slot].owner;
}

/*
 * Rows
 */

static uint32_t track_add(TraceTracks *tracks, const char *type, uint32_t name, uint8_t kind) {
        TraceTable *table = track_table(tracks);
        uint32_t row = trace_table_add(table);

        if (row == TRACE_NONE)
                return row;
        trace_table_set(table, TRACK_TYPE, row, tracks_text(tracks, type));
        trace_table_set(table, TRACK_NAME, row, name);
        trace_table_set(table, TRACK_KIND, row, kind);
        return row;
}

static void track_set_dimensions(TraceTracks *tracks,
                                 uint32_t row,
                                 const TracePlainTrack *track,
                                 uint64_t uuid) {
        TraceTable *table = track_table(tracks);
        TraceArgs *args = &tracks->args;

        if (track->utid != TRACE_NONE)
                trace_table_set(table, TRACK_UTID, row, track->utid);
        if (track->upid != TRACE_NONE)
                trace_table_set(table, TRACK_UPID, row, track->upid);
        if (track->cpu != TRACE_NONE)
                trace_table_set(table, TRACK_CPU, row, track->cpu);
        if (!tracks->wants_args)
                return;
        trace_args_clear(args);
        if (track->utid != TRACE_NONE)
                trace_args_add_int(args, tracks->store, "utid", track->utid);
        if (track->upid != TRACE_NONE)
                trace_args_add_int(args, tracks->store, "upid", track->upid);
        if (track->cpu != TRACE_NONE)
                trace_args_add_int(args, tracks->store, "cpu", track->cpu);
        if (track->dimension)
                trace_args_add_string(args, tracks->store, track->dimension, track->value);
        if (uuid)
                trace_args_add_int(args, tracks->store, "track_uuid", (int64_t)uuid);
        trace_table_set(table,
                        TRACK_DIMENSION_ARGS,
                        row,
                        trace_arg_sets_store(tracks->sets, tracks->store, args));
}

static void track_set_source(TraceTracks *tracks, uint32_t row, const TrackSlot *slot) {
        TraceArgs *args = &tracks->args;

        if (slot->info.description)
                trace_table_set(
                        track_table(tracks), TRACK_DESCRIPTION, row, slot->info.description);
        if (!tracks->wants_args)
                return;
        trace_args_clear(args);
        trace_args_add_string(args, tracks->store, "source", tracks_text(tracks, "descriptor"));
        trace_args_add_int(args, tracks->store, "trace_id", (int64_t)slot->info.uuid);
        trace_args_add_bool(
                args, tracks->store, "is_root_in_scope", slot->is_root || slot->info.uuid == 0);
        if (slot->info.category)
                trace_args_add_string(args, tracks->store, "category", slot->info.category);
        if (slot->info.description)
                trace_args_add_string(args, tracks->store, "description", slot->info.description);
        trace_table_set(track_table(tracks),
                        TRACK_SOURCE_ARGS,
                        row,
                        trace_arg_sets_store(tracks->sets, tracks->store, args));
}

uint32_t trace_tracks_plain(TraceTracks *tracks, const TracePlainTrack *track) {
        const uint64_t key[] = { tracks_text(tracks, track->type),
                                 track->name,
                                 track->utid,
                                 track->upid,
                                 track->cpu,
                                 track->unit,
                                 track->kind,
                                 track->value };
        uint64_t hash = siphash_keyed(key, sizeof(key)) >> 1;
        uint64_t known = trace_map_find(&tracks->plain, hash);
        uint32_t row;

        if (known != TRACE_MAP_NONE)
                return (uint32_t)known;
        row = track_add(tracks, track->type, track->name, track->kind);
        if (row == TRACE_NONE || trace_map_set(&tracks->plain, hash, row))
                return TRACE_NONE;
        if (track->unit)
                trace_table_set(track_table(tracks), TRACK_UNIT, row, track->unit);
        track_set_dimensions(tracks, row, track, 0);
        return row;
}

uint32_t trace_tracks_thread(TraceTracks *tracks, uint32_t utid) {
        const TracePlainTrack track = {
                .type = "thread_execution",
                .kind = TRACK_KIND_SLICE,
                .utid = utid,
                .upid = TRACE_NONE,
                .cpu = TRACE_NONE,
        };

        return trace_tracks_plain(tracks, &track);
}

/* What a track shows. Slices of a group may be on any track of it. */
enum { SHOWS_SLICES, SHOWS_GROUP, SHOWS_COUNTER, SHOWS_STATES, _SHOWS_N };

static const char *const track_types[][_SHOWS_N] = {
        [TRACK_SCOPE_GLOBAL] = { "global_track_event",
                                 "global_merged_track_event",
                                 "global_counter_track_event",
                                 "global_state_track_event" },
        [TRACK_SCOPE_PROCESS] = { "process_track_event",
                                  "process_merged_track_event",
                                  "process_counter_track_event",
                                  "process_state_track_event" },
        [TRACK_SCOPE_THREAD] = { "thread_track_event",
                                 "thread_merged_track_event",
                                 "thread_counter_track_event",
                                 "thread_state_track_event" },
};

static const uint8_t track_kinds
        [_SHOWS_N] = { [SHOWS_COUNTER] = TRACK_KIND_COUNTER, [SHOWS_STATES] = TRACK_KIND_STATE };

static TracePlainTrack slot_owner(const TrackSlot *slot) {
        return (TracePlainTrack){
                .utid = slot->scope == TRACK_SCOPE_THREAD ? slot->owner : TRACE_NONE,
                .upid = slot->scope == TRACK_SCOPE_PROCESS ? slot->owner : TRACE_NONE,
                .cpu = TRACE_NONE,
        };
}

/* A track of a thread or process is at the top level of it unless it has a parent below that. */
static uint32_t slot_parent_row(TraceTracks *tracks, const TrackSlot *slot) {
        uint32_t parent;

        if (!slot->info.parent_uuid || slot->is_root)
                return TRACE_NONE;
        parent = trace_tracks_slot(tracks, slot->info.parent_uuid);
        if (parent == TRACE_NONE || tracks->slots[parent].is_root)
                return TRACE_NONE;
        return tracks->slots[parent].row;
}

static uint32_t slot_add_row(TraceTracks *tracks, uint32_t number, unsigned what, uint32_t name) {
        const TrackSlot *slot = &tracks->slots[number];
        TracePlainTrack owner = slot_owner(slot);
        uint32_t parent = slot_parent_row(tracks, slot), row;

        row = track_add(tracks, track_types[slot->scope][what], name, track_kinds[what]);
        if (row == TRACE_NONE)
                return row;
        if (parent != TRACE_NONE)
                trace_table_set(track_table(tracks), TRACK_PARENT, row, parent);
        if (slot->info.unit)
                trace_table_set(track_table(tracks), TRACK_UNIT, row, slot->info.unit);
        track_set_dimensions(tracks, row, &owner, slot->info.uuid);
        track_set_source(tracks, row, slot);
        return row;
}

static uint32_t slot_find_group(TraceTracks *tracks, const TrackSlot *slot, uint32_t name) {
        const uint64_t key[] = { slot->scope,
                                 slot->owner,
                                 slot->info.parent_uuid,
                                 slot->info.key != 0,
                                 slot->info.key ? slot->info.key : name,
                                 slot->is_async };
        uint64_t hash = siphash_keyed(key, sizeof(key)) >> 1;
        uint64_t known = trace_map_find(&tracks->by_key, hash);

        if (known != TRACE_MAP_NONE)
                return (uint32_t)known;
        if (trace_reserve((void **)&tracks->groups,
                          &tracks->n_groups_allocated,
                          tracks->n_groups + 1,
                          sizeof(*tracks->groups)) ||
            trace_map_set(&tracks->by_key, hash, tracks->n_groups))
                return TRACE_NONE;
        tracks->groups[tracks->n_groups] = (TrackGroup){ 0 };
        return (uint32_t)tracks->n_groups++;
}

static size_t group_lane(TraceTracks *tracks, TrackGroup *group, uint32_t number) {
        size_t i = tracks->slots[number].lane;

        if (i < group->n_lanes && group->lanes[i].slot == number)
                return i;
        for (i = 0; i < group->n_lanes; i++)
                if (group->lanes[i].n_open == 0)
                        return i;
        if (group->n_lanes == TRACE_TRACK_GROUP_MAX)
                return group->n_lanes - 1;
        if (trace_reserve((void **)&group->lanes,
                          &group->n_allocated,
                          group->n_lanes + 1,
                          sizeof(*group->lanes)))
                return SIZE_MAX;
        group->lanes[group->n_lanes] = (TrackLane){ .row = TRACE_NONE };
        return group->n_lanes++;
}

static uint32_t
slot_group_row(TraceTracks *tracks, uint32_t number, TraceTrackUse use, uint32_t event_name) {
        TrackSlot *slot = &tracks->slots[number];
        uint32_t name = slot->info.name ? slot->info.name : event_name;
        TrackLane *lane;
        size_t i;

        if (slot->group == TRACE_NONE)
                slot->group = slot_find_group(tracks, slot, name);
        if (slot->group == TRACE_NONE)
                return TRACE_NONE;
        i = group_lane(tracks, &tracks->groups[slot->group], number);
        if (i == SIZE_MAX)
                return TRACE_NONE;
        lane = &tracks->groups[slot->group].lanes[i];
        lane->slot = number;
        slot->lane = (uint32_t)i;
        if (use == TRACE_TRACK_BEGIN)
                lane->n_open++;
        else if (use == TRACE_TRACK_END && lane->n_open > 0)
                lane->n_open--;
        if (lane->row == TRACE_NONE)
                lane->row = slot_add_row(tracks, number, SHOWS_GROUP, name);
        slot = &tracks->slots[number];
        slot->row = tracks->groups[slot->group].lanes[i].row;
        return slot->row;
}

static uint32_t slot_thread_row(TraceTracks *tracks, const TrackSlot *slot) {
        TracePlainTrack own = slot_owner(slot);
        size_t n = track_table(tracks)->n;
        uint32_t row;

        own.type = track_types[TRACK_SCOPE_THREAD][SHOWS_SLICES];
        own.value = (uint32_t)(slot - tracks->slots) + 1; /* differs for each slot of the thread */
        own.name = slot->info.name;
        row = slot->info.is_separate ? trace_tracks_plain(tracks, &own)
                                     : trace_tracks_thread(tracks, slot->owner);
        if (row != TRACE_NONE && track_table(tracks)->n > n)
                track_set_source(tracks, row, slot);
        return row;
}

/* Slices may be on a track of states as well. */
static unsigned slot_shows(const TrackSlot *slot) {
        return slot->info.is_state ? SHOWS_STATES : SHOWS_SLICES;
}

static bool slot_is_alone(const TrackSlot *slot) {
        return slot->info.is_alone || slot->info.is_state;
}

/* Parents get their rows before their children. */
static void slot_make_parents(TraceTracks *tracks, uint32_t number, unsigned depth) {
        const TraceTrackInfo *info = &tracks->slots[number].info;
        uint32_t parent;

        if (!info->parent_uuid || depth == TRACE_TRACK_PARENTS_MAX || tracks->slots[number].is_root)
                return;
        parent = trace_tracks_slot(tracks, info->parent_uuid);
        if (parent == TRACE_NONE || tracks->slots[parent].row != TRACE_NONE)
                return;
        slot_make_parents(tracks, parent, depth + 1);
        if (tracks->slots[parent].is_root && tracks->slots[parent].scope == TRACK_SCOPE_THREAD)
                tracks->slots[parent].row = slot_thread_row(tracks, &tracks->slots[parent]);
        else if (tracks->slots[parent].is_root || slot_is_alone(&tracks->slots[parent]))
                tracks->slots[parent].row = slot_add_row(tracks,
                                                         parent,
                                                         slot_shows(&tracks->slots[parent]),
                                                         tracks->slots[parent].info.name);
        else
                slot_group_row(tracks, parent, TRACE_TRACK_INSTANT, 0);
}

uint32_t
trace_tracks_slice(TraceTracks *tracks, uint32_t number, TraceTrackUse use, uint32_t event_name) {
        TrackSlot *slot;

        if (tracks_resolve(tracks, number, 0) == TRACK_SCOPE_BROKEN)
                return TRACE_NONE;
        slot = &tracks->slots[number];
        if (slot->group == TRACE_NONE && slot->row != TRACE_NONE)
                return slot->row;
        if (slot->is_root && slot->scope == TRACK_SCOPE_THREAD) {
                slot->row = slot_thread_row(tracks, slot);
                return slot->row;
        }
        if (slot->group == TRACE_NONE)
                slot_make_parents(tracks, number, 0);
        if (!slot->is_root && !slot_is_alone(&tracks->slots[number]))
                return slot_group_row(tracks, number, use, event_name);
        slot = &tracks->slots[number];
        slot->row = slot_add_row(tracks,
                                 number,
                                 slot_shows(slot),
                                 slot->info.name || slot->is_root ? slot->info.name : event_name);
        return tracks->slots[number].row;
}

uint32_t trace_tracks_state(TraceTracks *tracks, uint32_t number, uint32_t name) {
        if (!tracks->slots[number].info.is_state)
                return TRACE_NONE;
        return trace_tracks_slice(tracks, number, TRACE_TRACK_INSTANT, name);
}

uint32_t trace_tracks_counter(TraceTracks *tracks, uint32_t number) {
        if (tracks_resolve(tracks, number, 0) == TRACK_SCOPE_BROKEN ||
            !tracks->slots[number].info.is_counter)
                return TRACE_NONE;
        if (tracks->slots[number].row == TRACE_NONE) {
                slot_make_parents(tracks, number, 0);
                tracks->slots[number].row = slot_add_row(
                        tracks, number, SHOWS_COUNTER, tracks->slots[number].info.name);
        }
        return tracks->slots[number].row;
}

/* The process, if the id is only unique within it; otherwise pid is 0. */
uint32_t trace_tracks_async_slot(TraceTracks *tracks,
                                 uint64_t id,
                                 uint32_t scope,
                                 uint32_t name,
                                 int32_t pid) {
        const uint64_t parts[] = { id, scope, (uint32_t)pid, 1 };
        uint64_t key = siphash_keyed(parts, sizeof(parts));
        uint64_t known = trace_map_find(&tracks->by_uuid, key);
        uint32_t slot;

        if (known != TRACE_MAP_NONE)
                return (uint32_t)known;
        slot = slot_add(tracks, key, key);
        if (slot == TRACE_NONE)
                return slot;
        tracks->slots[slot].is_async = true;
        tracks->slots[slot].info.name = name;
        if (pid > 0) {
                uint32_t upid = trace_threads_process(tracks->threads, pid);

                tracks->slots[slot].scope = TRACK_SCOPE_PROCESS;
                tracks->slots[slot].owner = upid;
                if (upid == TRACE_NONE)
                        tracks->slots[slot].scope = TRACK_SCOPE_GLOBAL;
        }
        return slot;
}

uint32_t trace_tracks_thread_slot(TraceTracks *tracks, int32_t tid, int32_t pid) {
        const uint64_t parts[] = { (uint32_t)tid, (uint32_t)pid, 2 };
        uint64_t key = siphash_keyed(parts, sizeof(parts));
        uint64_t known = trace_map_find(&tracks->by_uuid, key);
        uint32_t slot, utid;

        if (known != TRACE_MAP_NONE)
                return (uint32_t)known;
        slot = slot_add(tracks, key, key);
        if (slot == TRACE_NONE)
                return slot;
        utid = trace_threads_of(tracks->threads, tid, pid);
        tracks->slots[slot].scope = utid == TRACE_NONE ? TRACK_SCOPE_GLOBAL : TRACK_SCOPE_THREAD;
        tracks->slots[slot].owner = utid;
        tracks->slots[slot].is_root = utid != TRACE_NONE;
        return slot;
}
