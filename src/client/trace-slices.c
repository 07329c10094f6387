/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Slices: begins and ends of each track, matched in the order of their times
 *
 * Packets of different threads are not in time order in a file, and slices of one track may come from several threads.
 * So begins and ends are collected. When there are TRACE_EVENT_WINDOW of them, they are sorted, and the older half is
 * matched. What one thread has written at a time is in order already, so sorting means merging such runs. An event that
 * comes after a later one of its track was matched is too late to be put in order, and counted.
 */

#include <string.h>

#include "client/keyed-hash.h"
#include "client/trace-state.h"

static guint async_hash(gconstpointer key) {
        return keyed_hash_bytes(key, sizeof(AsyncId));
}

static gboolean async_equal(gconstpointer a, gconstpointer b) {
        return memcmp(a, b, sizeof(AsyncId)) == 0;
}

static void track_destroy(gpointer track) {
        track_free(track);
}

GPtrArray *trace_tracks_new(void) {
        return g_ptr_array_new_with_free_func(track_destroy);
}

GHashTable *trace_async_tracks_new(void) {
        return g_hash_table_new_full(async_hash, async_equal, NULL, track_destroy);
}

Track *track_free(Track *track) {
        g_free(track->open);
        g_free(track);
        return NULL;
}

Track *trace_state_track(TraceSummary *summary, uint64_t uuid) {
        struct TraceState *state = summary->state;
        uint64_t number = trace_map_find(&state->track_numbers, uuid);
        Track *track;

        if (number != TRACE_MAP_NONE)
                return g_ptr_array_index(state->tracks, number);
        if (!trace_state_may_grow(summary) ||
            trace_map_set(&state->track_numbers, uuid, state->tracks->len))
                return NULL;
        track = g_new0(Track, 1);
        track->uuid = uuid;
        g_ptr_array_add(state->tracks, track);
        return track;
}

Track *trace_state_async_track(TraceSummary *summary, const AsyncId *id) {
        Track *track = g_hash_table_lookup(summary->state->async_tracks, id);

        if (track || !trace_state_may_grow(summary))
                return track;
        track = g_new0(Track, 1);
        track->async_id = *id;
        g_hash_table_insert(summary->state->async_tracks, &track->async_id, track);
        return track;
}

TraceSlice *trace_state_slice(TraceSummary *summary, const char *name, const char *category) {
        const char *key = name ? name : "(unnamed)";
        TraceSlice *slice = g_hash_table_lookup(summary->slices, key);

        if (slice || !trace_state_may_grow(summary))
                return slice;
        slice = g_new0(TraceSlice, 1);
        slice->name = key;
        slice->category = category;
        g_hash_table_insert(summary->slices, (gpointer)key, slice);
        return slice;
}

void trace_slice_add(TraceSlice *slice, uint64_t duration_ns) {
        slice->n_slices++;
        slice->total_ns += duration_ns;
        slice->max_ns = MAX(slice->max_ns, duration_ns);
}

static int open_slice_push(Track *track, TraceSlice *slice, uint64_t at_ns) {
        if (track->n_open == TRACE_SLICE_DEPTH_MAX)
                return -E2BIG;
        if (track->n_open == track->n_allocated) {
                track->n_allocated = track->n_allocated ? track->n_allocated * 2 : 8;
                track->open = g_realloc_n(track->open, track->n_allocated, sizeof(*track->open));
        }
        track->open[track->n_open++] = (OpenSlice){ .slice = slice, .since_ns = at_ns };
        return 0;
}

static void track_begin(TraceSummary *summary, Track *track, const TrackEvent *event) {
        if (track->n_too_deep || open_slice_push(track, event->slice, event->at_ns) < 0) {
                track->n_too_deep++;
                summary->n_omitted++;
        }
}

static void track_end(TraceSummary *summary, Track *track, uint64_t at_ns) {
        const OpenSlice *open;

        if (track->n_too_deep) {
                track->n_too_deep--;
                return;
        }
        if (track->n_open == 0) {
                summary->n_unmatched_ends++;
                return;
        }
        open = &track->open[--track->n_open];
        trace_slice_add(open->slice, at_ns > open->since_ns ? at_ns - open->since_ns : 0);
}

static void event_match(TraceSummary *summary, const TrackEvent *event) {
        Track *track = event->track;

        if (event->at_ns < track->matched_ns)
                summary->n_misordered++;
        track->matched_ns = MAX(track->matched_ns, event->at_ns);
        if (event->slice)
                track_begin(summary, track, event);
        else
                track_end(summary, track, event->at_ns);
}

/* The positions at which runs of events begin that are in order, and where the last one ends. */
static GArray *find_runs(const GArray *events) {
        GArray *runs = g_array_new(FALSE, FALSE, sizeof(guint));

        for (guint i = 0; i <= events->len; i++)
                if (i == 0 || i == events->len ||
                    g_array_index(events, TrackEvent, i).at_ns <
                            g_array_index(events, TrackEvent, i - 1).at_ns)
                        g_array_append_val(runs, i);
        return runs;
}

/* Of events with the same time, those of x come first. */
static void merge_two(TrackEvent *to,
                      const TrackEvent *x,
                      const TrackEvent *x_end,
                      const TrackEvent *y,
                      const TrackEvent *y_end) {
        while (x < x_end && y < y_end)
                *to++ = y->at_ns < x->at_ns ? *y++ : *x++;
        if (x < x_end)
                memcpy(to, x, (size_t)(x_end - x) * sizeof(*to));
        else if (y < y_end)
                memcpy(to, y, (size_t)(y_end - y) * sizeof(*to));
}

/* Merges each two neighbours. */
static void merge_runs(GArray *to, const GArray *events, GArray *runs) {
        const TrackEvent *from = (const TrackEvent *)events->data;
        const guint n = runs->len - 1;
        guint n_left = 0;

        for (guint i = 0; i < n; i += 2) {
                guint x = g_array_index(runs, guint, i), y = g_array_index(runs, guint, i + 1);
                guint end = g_array_index(runs, guint, MIN(i + 2, n));

                merge_two((TrackEvent *)to->data + x, from + x, from + y, from + y, from + end);
                g_array_index(runs, guint, n_left++) = x;
        }
        g_array_index(runs, guint, n_left++) = events->len;
        g_array_set_size(runs, n_left);
}

/* Events with the same time stay in the order of the file. */
static void events_sort(struct TraceState *state) {
        g_autoptr(GArray) runs = find_runs(state->events);

        while (runs->len > 2) {
                GArray *merged = state->merged;

                g_array_set_size(merged, state->events->len);
                merge_runs(merged, state->events, runs);
                state->merged = state->events;
                state->events = merged;
        }
}

/* Matches this many of the oldest ones. */
static void summary_match(TraceSummary *summary, guint n) {
        GArray *events;

        events_sort(summary->state);
        events = summary->state->events;
        for (guint i = 0; i < n; i++)
                event_match(summary, &g_array_index(events, TrackEvent, i));
        if (n > 0)
                g_array_remove_range(events, 0, n);
}

void trace_slice_event(Packet *packet, Track *track, TraceSlice *slice) {
        GArray *events = packet->summary->state->events;
        const TrackEvent event = {
                .at_ns = packet->at_ns,
                .track = track,
                .slice = slice,
        };

        g_array_append_val(events, event);
        if (events->len == TRACE_EVENT_WINDOW)
                summary_match(packet->summary, TRACE_EVENT_WINDOW / 2);
}

void trace_summary_settle(TraceSummary *summary) {
        summary_match(summary, summary->state->events->len);
}

static void track_finish(const Track *track) {
        for (size_t i = 0; i < track->n_open; i++)
                track->open[i].slice->n_open++;
}

void trace_slices_finish(TraceSummary *summary) {
        struct TraceState *state = summary->state;
        GHashTableIter iter;
        gpointer track;

        summary_match(summary, state->events->len);
        for (guint i = 0; i < state->tracks->len; i++)
                track_finish(g_ptr_array_index(state->tracks, i));
        g_hash_table_iter_init(&iter, state->async_tracks);
        while (g_hash_table_iter_next(&iter, NULL, &track))
                track_finish(track);
}
