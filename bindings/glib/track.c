/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tracks and lanes, with copies of their texts. */

#include "private.h"

struct _DtGlibTrack {
        gatomicrefcount n_refs;
        DtGlibTrack *parent;
        const dt_track *given; /* one that the library has; it is known by its address */
        dt_track track;
};

struct _DtGlibLanes {
        gatomicrefcount n_refs;
        dt_lanes lanes;
};

G_DEFINE_BOXED_TYPE(DtGlibTrack, dt_glib_track, dt_glib_track_ref, dt_glib_track_unref)
G_DEFINE_BOXED_TYPE(DtGlibLanes, dt_glib_lanes, dt_glib_lanes_ref, dt_glib_lanes_unref)

const dt_track *track_get(const DtGlibTrack *track) {
        if (!track)
                return NULL;
        return track->given ? track->given : &track->track;
}

static DtGlibTrack *track_new(const char *name, const char *unit, guint64 id, DtGlibTrack *parent) {
        DtGlibTrack *track = g_new0(DtGlibTrack, 1);

        g_atomic_ref_count_init(&track->n_refs);
        track->parent = parent ? dt_glib_track_ref(parent) : NULL;
        track->track.name = g_strdup(name);
        track->track.unit = g_strdup(unit);
        track->track.id = id;
        track->track.parent = track_get(parent);
        return track;
}

static DtGlibTrack *track_new_given(const dt_track *given) {
        DtGlibTrack *track = track_new(NULL, NULL, 0, NULL);

        track->given = given;
        return track;
}

/**
 * dt_glib_track_new: (constructor)
 * @name: what viewers call it
 * @id: tells tracks of the same name apart, or 0
 * @parent: (nullable): the track above; %NULL: the program's
 *
 * A row of the timeline, for slices and instants or for states. The same name, id and parent is the same row.
 *
 * Returns: (transfer full): the track
 */
DtGlibTrack *dt_glib_track_new(const char *name, guint64 id, DtGlibTrack *parent) {
        return track_new(name, NULL, id, parent);
}

/**
 * dt_glib_track_new_counter: (constructor)
 * @name: what viewers call it
 * @unit: (nullable): of its values
 * @parent: (nullable): the track above; %NULL: the program's
 *
 * A row of the timeline for the values of a counter.
 *
 * Returns: (transfer full): the track
 */
DtGlibTrack *dt_glib_track_new_counter(const char *name, const char *unit, DtGlibTrack *parent) {
        return track_new(name, unit, 0, parent);
}

/**
 * dt_glib_track_new_of_thread: (constructor)
 *
 * A parent: the track of the thread that an event comes from, so that each thread has a track of its own below it.
 *
 * Returns: (transfer full): the track
 */
DtGlibTrack *dt_glib_track_new_of_thread(void) {
        return track_new_given(&dt_thread_track);
}

/**
 * dt_glib_track_new_of_trace: (constructor)
 *
 * A parent: the whole trace, where the same name and id is the same track for all programs.
 *
 * Returns: (transfer full): the track
 */
DtGlibTrack *dt_glib_track_new_of_trace(void) {
        return track_new_given(&dt_root_track);
}

/**
 * dt_glib_track_ref:
 * @track: a track
 *
 * Takes a reference.
 *
 * Returns: (transfer full): @track
 */
DtGlibTrack *dt_glib_track_ref(DtGlibTrack *track) {
        g_atomic_ref_count_inc(&track->n_refs);
        return track;
}

/**
 * dt_glib_track_unref:
 * @track: (transfer full): a track
 *
 * Gives a reference back; the last one frees it. What was recorded on the track stays.
 */
void dt_glib_track_unref(DtGlibTrack *track) {
        if (!g_atomic_ref_count_dec(&track->n_refs))
                return;
        g_clear_pointer(&track->parent, dt_glib_track_unref);
        g_free((char *)track->track.name);
        g_free((char *)track->track.unit);
        g_free(track);
}

/**
 * dt_glib_track_describe:
 * @track: a track
 * @description: (nullable): for people
 * @child_order: how viewers order the tracks below it
 * @rank: its place among those of its parent, if that orders by rank
 *
 * Says more about a track, once, before its first event.
 *
 * Returns: %FALSE: it has been described in another way, or there is no room for more descriptions
 */
gboolean dt_glib_track_describe(DtGlibTrack *track,
                                const char *description,
                                DtGlibOrder child_order,
                                gint rank) {
        const dt_track_details details = {
                .size = sizeof(details),
                .description = description,
                .child_order = (dt_track_order)child_order,
                .rank = rank,
        };

        return dt_track_describe(track_get(track), &details) == 0;
}

/**
 * dt_glib_track_describe_counter:
 * @track: a counter's track
 * @description: (nullable): for people
 * @unit: what its values are
 * @multiplier: a value is so many units; 0: one
 * @y_axis: (nullable): counters below the same parent with the same text share their scale
 *
 * Says more about a counter, once, before its first value.
 *
 * Returns: %FALSE: it has been described in another way, or there is no room for more descriptions
 */
gboolean dt_glib_track_describe_counter(DtGlibTrack *track,
                                        const char *description,
                                        DtGlibUnit unit,
                                        gint64 multiplier,
                                        const char *y_axis) {
        const dt_track_details details = {
                .size = sizeof(details),
                .description = description,
                .unit = (dt_unit)unit,
                .unit_multiplier = multiplier,
                .y_axis = y_axis,
        };

        return dt_track_describe(track_get(track), &details) == 0;
}

dt_lanes *lanes_get(DtGlibLanes *lanes) {
        return &lanes->lanes;
}

/**
 * dt_glib_lanes_new: (constructor)
 * @name: what viewers call them
 * @id: tells those of the same name apart, or 0
 *
 * Lanes for things that overlap, such as requests: each slice of dt_glib_category_start() has one as long as it lasts,
 * and viewers show all of them as one row.
 *
 * Returns: (transfer full): the lanes
 */
DtGlibLanes *dt_glib_lanes_new(const char *name, guint64 id) {
        DtGlibLanes *lanes = g_new0(DtGlibLanes, 1);

        g_atomic_ref_count_init(&lanes->n_refs);
        lanes->lanes.name = g_strdup(name);
        lanes->lanes.id = id;
        return lanes;
}

/**
 * dt_glib_lanes_ref:
 * @lanes: lanes
 *
 * Takes a reference.
 *
 * Returns: (transfer full): @lanes
 */
DtGlibLanes *dt_glib_lanes_ref(DtGlibLanes *lanes) {
        g_atomic_ref_count_inc(&lanes->n_refs);
        return lanes;
}

/**
 * dt_glib_lanes_unref:
 * @lanes: (transfer full): lanes
 *
 * Gives a reference back; the last one frees them. Slices on them have one each.
 */
void dt_glib_lanes_unref(DtGlibLanes *lanes) {
        if (!g_atomic_ref_count_dec(&lanes->n_refs))
                return;
        g_free((char *)lanes->lanes.name);
        g_free(lanes);
}
