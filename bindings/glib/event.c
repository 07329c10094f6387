/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The program, its categories, and their events. */

#include <time.h>

#include <desktrace/trigger.h>

#include "private.h"

/* A slice on a lane; NULL: nobody recorded it when it began, or it has ended. */
struct _DtGlibSlice {
        gatomicrefcount n_refs;
        const dt_category *category;
        DtGlibLanes *lanes;
        dt_track lane;
};

/* Categories are the library's and are never freed, so there is nothing to copy. */
static DtGlibCategory *category_copy(DtGlibCategory *category) {
        return category;
}

static void category_free(DtGlibCategory *category) {
}

G_DEFINE_BOXED_TYPE(DtGlibCategory, dt_glib_category, category_copy, category_free)
G_DEFINE_BOXED_TYPE(DtGlibSlice, dt_glib_slice, dt_glib_slice_ref, dt_glib_slice_unref)

/**
 * dt_glib_init:
 *
 * Lets sessions record this program from now on; calling it again is harmless. See dt_init(3).
 *
 * Returns: whether it can be recorded; if not, all functions still work and do nothing
 */
gboolean dt_glib_init(void) {
        return dt_init(NULL) == 0;
}

/**
 * dt_glib_is_recording:
 *
 * Returns: whether any session records this program now
 */
gboolean dt_glib_is_recording(void) {
        return dt_is_recording();
}

/**
 * dt_glib_trigger:
 * @name: 1 to 128 characters of printable ASCII
 *
 * Tells the sessions that listen for @name that something has happened. See dt_trigger(3).
 *
 * Returns: whether it will be sent
 */
gboolean dt_glib_trigger(const char *name) {
        return dt_trigger(name) == 0;
}

/**
 * dt_glib_process_set_name:
 * @name: (nullable): what to call the program in traces; %NULL: its short name
 *
 * Names the program.
 */
void dt_glib_process_set_name(const char *name) {
        dt_process_set_name(name);
}

/**
 * dt_glib_thread_set_name:
 * @name: what to call the thread in traces; "": its kernel name
 *
 * Names the calling thread.
 */
void dt_glib_thread_set_name(const char *name) {
        dt_thread_set_name(name);
}

/**
 * dt_glib_flow_id:
 * @number: unique in this program
 *
 * Makes an id that is unique in the whole trace, for dt_glib_args_add_flow().
 *
 * Returns: the id
 */
guint64 dt_glib_flow_id(guint64 number) {
        return dt_flow_id(number);
}

/**
 * dt_glib_now_ns:
 *
 * Returns: nanoseconds of CLOCK_BOOTTIME, the clock of all events
 */
guint64 dt_glib_now_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (guint64)now.tv_sec * 1000000000 + (guint64)now.tv_nsec;
}

/**
 * dt_glib_category_new: (constructor)
 * @name: its name, which people choose it by
 * @description: (nullable): for people
 * @tags: (nullable): such as "debug" or "slow", which make it off unless the session names it
 *
 * Finds the category of this name, or makes it. A program has at most 256 of them; they are never freed. Of more than
 * that, as without memory, it is one that is never on.
 *
 * Returns: (transfer full): the category
 */
DtGlibCategory *dt_glib_category_new(const char *name, const char *description, const char *tags) {
        return (DtGlibCategory *)dt_category_find_or_add(name, description, tags);
}

static const dt_category *get(const DtGlibCategory *category) {
        return (const dt_category *)category;
}

/**
 * dt_glib_category_is_enabled:
 * @category: a category
 *
 * Returns: whether any session records it now
 */
gboolean dt_glib_category_is_enabled(DtGlibCategory *category) {
        return dt_category_enabled(get(category));
}

typedef void (*EventFunc)(const dt_category *category,
                          const dt_track *track,
                          const char *name,
                          const dt_arg *args,
                          size_t n_args);

static void emit(EventFunc function,
                 DtGlibCategory *category,
                 DtGlibTrack *track,
                 const char *name,
                 DtGlibArgs *args) {
        const dt_arg *list;
        gsize n;

        if (!dt_category_enabled(get(category)))
                return;
        list = args_list(args, &n);
        function(get(category), track_get(track), name, list, n);
}

/**
 * dt_glib_category_begin:
 * @category: a category
 * @name: the slice's name; few different ones
 * @args: (nullable): arguments
 *
 * Begins a slice on the calling thread's track. Slices of a thread end in the reverse order of their begins.
 */
void dt_glib_category_begin(DtGlibCategory *category, const char *name, DtGlibArgs *args) {
        emit(dt_slice_begin, category, NULL, name, args);
}

/**
 * dt_glib_category_end:
 * @category: a category
 * @args: (nullable): arguments that are known only now
 *
 * Ends the slice that the calling thread began last.
 */
void dt_glib_category_end(DtGlibCategory *category, DtGlibArgs *args) {
        emit(dt_slice_end_args, category, NULL, NULL, args);
}

/**
 * dt_glib_category_instant:
 * @category: a category
 * @name: the event's name; few different ones
 * @args: (nullable): arguments
 *
 * Something has happened, on the calling thread's track.
 */
void dt_glib_category_instant(DtGlibCategory *category, const char *name, DtGlibArgs *args) {
        emit(dt_instant, category, NULL, name, args);
}

/**
 * dt_glib_category_count:
 * @category: a category
 * @name: the counter's name
 * @value: its value from now on
 *
 * Sets a counter.
 */
void dt_glib_category_count(DtGlibCategory *category, const char *name, gint64 value) {
        DT_COUNTER(*get(category), name, value);
}

/**
 * dt_glib_category_count_double:
 * @category: a category
 * @name: the counter's name
 * @value: its value from now on
 *
 * Sets a counter.
 */
void dt_glib_category_count_double(DtGlibCategory *category, const char *name, double value) {
        DT_COUNTER_DOUBLE(*get(category), name, value);
}

/**
 * dt_glib_category_begin_on:
 * @category: a category
 * @track: a track
 * @name: the slice's name; few different ones
 * @args: (nullable): arguments
 *
 * Begins a slice on @track.
 */
void dt_glib_category_begin_on(DtGlibCategory *category,
                               DtGlibTrack *track,
                               const char *name,
                               DtGlibArgs *args) {
        emit(dt_slice_begin, category, track, name, args);
}

/**
 * dt_glib_category_end_on:
 * @category: a category
 * @track: a track
 * @args: (nullable): arguments that are known only now
 *
 * Ends the slice that began last on @track.
 */
void dt_glib_category_end_on(DtGlibCategory *category, DtGlibTrack *track, DtGlibArgs *args) {
        emit(dt_slice_end_args, category, track, NULL, args);
}

/**
 * dt_glib_category_instant_on:
 * @category: a category
 * @track: a track
 * @name: the event's name; few different ones
 * @args: (nullable): arguments
 *
 * Something has happened, on @track.
 */
void dt_glib_category_instant_on(DtGlibCategory *category,
                                 DtGlibTrack *track,
                                 const char *name,
                                 DtGlibArgs *args) {
        emit(dt_instant, category, track, name, args);
}

/**
 * dt_glib_category_count_on:
 * @category: a category
 * @track: a counter's track
 * @value: its value from now on
 *
 * Sets a counter.
 */
void dt_glib_category_count_on(DtGlibCategory *category, DtGlibTrack *track, gint64 value) {
        DT_COUNTER_ON(*get(category), track_get(track), value);
}

/**
 * dt_glib_category_count_double_on:
 * @category: a category
 * @track: a counter's track
 * @value: its value from now on
 *
 * Sets a counter.
 */
void dt_glib_category_count_double_on(DtGlibCategory *category, DtGlibTrack *track, double value) {
        DT_COUNTER_DOUBLE_ON(*get(category), track_get(track), value);
}

/**
 * dt_glib_category_state:
 * @category: a category
 * @track: a track that has only states
 * @name: the state; "": none
 * @args: (nullable): arguments
 *
 * What the thing that @track stands for is doing from now on.
 */
void dt_glib_category_state(DtGlibCategory *category,
                            DtGlibTrack *track,
                            const char *name,
                            DtGlibArgs *args) {
        emit(dt_state, category, track, name, args);
}

/**
 * dt_glib_category_mark:
 * @category: a category
 * @track: (nullable): a track; %NULL: the calling thread's
 * @name: the slice's name; few different ones
 * @begin_ns: when it began, see dt_glib_now_ns()
 * @duration_ns: how long it took, in nanoseconds
 * @args: (nullable): arguments, without a time
 *
 * A slice that is known only when it has ended. Nothing else on the track may begin or end meanwhile, unless it does so
 * within the slice.
 */
void dt_glib_category_mark(DtGlibCategory *category,
                           DtGlibTrack *track,
                           const char *name,
                           guint64 begin_ns,
                           guint64 duration_ns,
                           DtGlibArgs *args) {
        dt_arg list[DT_GLIB_ARGS_MAX + 1];
        const dt_arg *given, end = DT_AT(begin_ns + duration_ns);
        gsize n;

        if (!dt_category_enabled(get(category)))
                return;
        given = args_list(args, &n);
        list[0] = DT_AT(begin_ns);
        for (gsize i = 0; i < n; i++)
                list[i + 1] = given[i];
        dt_slice_begin(get(category), track_get(track), name, list, n + 1);
        dt_slice_end_args(get(category), track_get(track), NULL, &end, 1);
}

/**
 * dt_glib_category_start:
 * @category: a category
 * @lanes: where it is shown
 * @name: the slice's name; few different ones
 * @args: (nullable): arguments
 *
 * Begins a slice on a lane of its own, for something that overlaps with others and may end on another thread.
 *
 * Returns: (transfer full): the slice, which ends with dt_glib_slice_end() or its last reference
 */
DtGlibSlice *dt_glib_category_start(DtGlibCategory *category,
                                    DtGlibLanes *lanes,
                                    const char *name,
                                    DtGlibArgs *args) {
        DtGlibSlice *slice = g_new0(DtGlibSlice, 1);
        const dt_arg *list;
        gsize n;

        g_atomic_ref_count_init(&slice->n_refs);
        if (!dt_category_enabled(get(category)))
                return slice;
        list = args_list(args, &n);
        slice->category = get(category);
        slice->lanes = dt_glib_lanes_ref(lanes);
        slice->lane = dt_lane_take(lanes_get(lanes));
        dt_slice_begin(slice->category, &slice->lane, name, list, n);
        return slice;
}

/**
 * dt_glib_slice_end:
 * @slice: a slice
 * @args: (nullable): arguments that are known only now
 *
 * Ends the slice. Later calls do nothing. One thread at a time.
 */
void dt_glib_slice_end(DtGlibSlice *slice, DtGlibArgs *args) {
        const dt_arg *list;
        gsize n;

        if (!slice->category)
                return;
        list = args_list(args, &n);
        dt_slice_end_args(slice->category, &slice->lane, NULL, list, n);
        dt_lane_return(lanes_get(slice->lanes), &slice->lane);
        slice->category = NULL;
        g_clear_pointer(&slice->lanes, dt_glib_lanes_unref);
}

/**
 * dt_glib_slice_ref:
 * @slice: a slice
 *
 * Takes a reference.
 *
 * Returns: (transfer full): @slice
 */
DtGlibSlice *dt_glib_slice_ref(DtGlibSlice *slice) {
        g_atomic_ref_count_inc(&slice->n_refs);
        return slice;
}

/**
 * dt_glib_slice_unref:
 * @slice: (transfer full): a slice
 *
 * Gives a reference back; the last one ends the slice.
 */
void dt_glib_slice_unref(DtGlibSlice *slice) {
        if (!g_atomic_ref_count_dec(&slice->n_refs))
                return;
        dt_glib_slice_end(slice, NULL);
        g_free(slice);
}
