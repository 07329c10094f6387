/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The hook into a frame clock.
 *
 * GTK is not linked: all that is known of a clock are its signals, which GTK 3 and 4 emit in a row, each only if there
 * is something to do for it. What GTK itself does for one is done by a handler that is older than any of ours; so hooks
 * on the emission, which run before all handlers, say when a phase begins.
 *
 * Each clock has a track of its own below its thread's. A frame may be frozen between two phases and go on in another
 * turn of the main loop, and would else come between the begins and ends of the program's own slices.
 */

#include "private.h"

DT_CATEGORY(frames_category, "glib.frames", "Frames of frame clocks, and their phases");

#define LAST_PHASE "after-paint"

static const char *const phases[] = {
        "before-paint", "update", "layout", "paint", LAST_PHASE,
};

typedef struct Clock {
        dt_track track;
        dt_track time_track;
        guint64 number; /* of the frame that runs, or the last one */
        guint64 began_ns;
        gboolean is_in_frame;
        gboolean is_in_phase;
} Clock;

static GMutex hooks_lock;
static gulong n_clocks; /* under the lock */

static GQuark clock_quark(void) {
        return g_quark_from_static_string("desktrace-glib-frame-clock");
}

static GQuark hook_quark(guint phase) {
        g_autofree char *name = g_strdup_printf("desktrace-glib-%s", phases[phase]);

        return g_quark_from_string(name);
}

static void end_phase(Clock *clock) {
        if (clock->is_in_phase)
                DT_SLICE_END_ON(frames_category, &clock->track);
        clock->is_in_phase = FALSE;
}

static void begin_frame(Clock *clock) {
        clock->is_in_frame = TRUE;
        clock->began_ns = dt_glib_now_ns();
        DT_SLICE_BEGIN_ON(
                frames_category, &clock->track, "frame", DT_UINT("number", ++clock->number));
}

static void end_frame(Clock *clock) {
        end_phase(clock);
        if (clock->is_in_frame)
                DT_SLICE_END_ON(frames_category, &clock->track);
        clock->is_in_frame = FALSE;
}

static void on_end(GObject *object, gpointer userdata) {
        Clock *clock = userdata;

        if (!clock->is_in_frame)
                return;
        end_frame(clock);
        DT_COUNTER_ON(
                frames_category, &clock->time_track, (gint64)(dt_glib_now_ns() - clock->began_ns));
}

/* Before all handlers, of any object that has the signal. */
static gboolean
on_phase(GSignalInvocationHint *hint, guint n_values, const GValue *values, gpointer name) {
        Clock *clock = g_object_get_qdata(g_value_get_object(&values[0]), clock_quark());

        if (!clock)
                return TRUE;
        end_phase(clock);
        if (!clock->is_in_frame)
                begin_frame(clock);
        DT_SLICE_BEGIN_ON(frames_category, &clock->track, name);
        clock->is_in_phase = TRUE;
        return TRUE;
}

static gboolean is_phase(GSignalQuery *ret_query, const char *name, GType type) {
        guint id = g_signal_lookup(name, type);

        if (id == 0)
                return FALSE;
        g_signal_query(id, ret_query);
        return ret_query->n_params == 0 && !(ret_query->signal_flags & G_SIGNAL_NO_HOOKS) &&
               !(ret_query->signal_flags & G_SIGNAL_DETAILED);
}

static gboolean is_clock(GType type) {
        GSignalQuery query;

        for (guint i = 0; i < G_N_ELEMENTS(phases); i++)
                if (!is_phase(&query, phases[i], type))
                        return FALSE;
        return TRUE;
}

/* Once for each type that has such signals, as a hook is for all objects of it. With the lock held. */
static void add_hooks(GType type) {
        for (guint i = 0; i < G_N_ELEMENTS(phases); i++) {
                GSignalQuery query;

                is_phase(&query, phases[i], type);
                if (g_type_get_qdata(query.itype, hook_quark(i)))
                        continue;
                g_type_set_qdata(query.itype, hook_quark(i), (gpointer)phases[i]);
                g_signal_add_emission_hook(query.signal_id, 0, on_phase, (gpointer)phases[i], NULL);
        }
}

static void clock_free(gpointer userdata) {
        end_frame(userdata);
        g_free(userdata);
}

static void add_clock(GObject *object) {
        Clock *clock = g_new0(Clock, 1);
        const dt_track_details time = { .size = sizeof(time), .unit = DT_UNIT_TIME_NS };

        clock->track = (dt_track)DT_TRACK_UNDER(&dt_thread_track, "frame clock", ++n_clocks);
        clock->time_track = (dt_track){ "frame time", NULL, n_clocks, NULL };
        dt_track_describe(&clock->time_track, &time);
        g_object_set_qdata_full(object, clock_quark(), clock, clock_free);
        g_signal_connect_after(object, LAST_PHASE, G_CALLBACK(on_end), clock);
}

/**
 * dt_glib_trace_frame_clock:
 * @clock: a GdkFrameClock of GTK 3 or 4, or any object with its signals
 *
 * Records the frames of @clock from now on, in the category "glib.frames": each with its phases (before-paint, update,
 * layout, paint, after-paint) on a track "frame clock" below the thread's, and how long it took as a counter "frame
 * time". Also records the main loop that runs them: dt_glib_trace_main_context() for the calling thread's default
 * context. To be called on the thread of the clock; it is recorded until it is disposed of. Calling it again is
 * harmless.
 *
 * Returns: %FALSE: the object does not have these signals, so nothing is recorded
 */
gboolean dt_glib_trace_frame_clock(GObject *clock) {
        if (!is_clock(G_OBJECT_TYPE(clock)))
                return FALSE;
        g_mutex_lock(&hooks_lock);
        if (!g_object_get_qdata(clock, clock_quark())) {
                add_hooks(G_OBJECT_TYPE(clock));
                add_clock(clock);
        }
        g_mutex_unlock(&hooks_lock);
        dt_glib_trace_main_context(g_main_context_get_thread_default());
        return TRUE;
}
