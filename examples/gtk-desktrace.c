/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A GTK 4 program that shows its frame clock: the phases of each frame, an arrow to the moment when the frame was seen,
 * and the frame rate. A program of one's own needs on_realize() and what stands above it.
 *
 *      gtk-desktrace [--seconds N]
 */

#include <gtk/gtk.h>
#include <string.h>
#include <time.h>

#include <desktrace/glib.h>
#include <desktrace/track-event.h>

DT_CATEGORY(frames, "frames", "Frames of the window, their phases and what became of them");
DT_CATEGORY(drawing, "drawing", "What is drawn");

static const dt_track display = DT_TRACK("display", 0);
static const dt_track frame_rate = DT_COUNTER_TRACK("frame rate", "Hz");
static const dt_track frame_time = DT_COUNTER_TRACK("frame time", "us");

static double seconds = 5;

/*
 * The frame clock: its signals come in a row, each only if there is something to do for it. What GTK itself does for
 * one is done by a handler that is older than ours; so hooks, which run before all handlers, say when it begins.
 */

static struct {
        gboolean is_in_frame, is_in_phase;
        gint64 began_us;
        gint64 reported; /* number of the last frame that is known to be seen */
} current;

static void end_phase(void) {
        if (current.is_in_phase)
                DT_SLICE_END(frames);
        current.is_in_phase = FALSE;
}

static gboolean
on_phase(GSignalInvocationHint *hint, guint n_values, const GValue *values, gpointer name) {
        GdkFrameClock *clock = g_value_get_object(&values[0]);

        end_phase();
        if (!current.is_in_frame) {
                const guint64 id = dt_flow_id((guint64)gdk_frame_clock_get_frame_counter(clock));

                DT_SLICE_BEGIN(frames, "frame", DT_FLOW(id), DT_CORRELATION(id));
                current.began_us = g_get_monotonic_time();
                current.is_in_frame = TRUE;
        }
        DT_SLICE_BEGIN(frames, name);
        current.is_in_phase = TRUE;
        return G_SOURCE_CONTINUE;
}

/* GTK's times are of CLOCK_MONOTONIC, which stands still while the machine sleeps. */
static guint64 boot_ns(gint64 monotonic_us) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (guint64)now.tv_sec * 1000000000 + (guint64)now.tv_nsec -
               (guint64)(g_get_monotonic_time() - monotonic_us) * 1000;
}

/* Says of the frames before when they were seen, as far as that is known by now. */
static void report_presented(GdkFrameClock *clock) {
        const gint64 newest = gdk_frame_clock_get_frame_counter(clock);

        current.reported = MAX(current.reported, gdk_frame_clock_get_history_start(clock) - 1);
        while (current.reported < newest) {
                GdkFrameTimings *timings = gdk_frame_clock_get_timings(clock, current.reported + 1);
                gint64 presented_us;

                if (!timings || !gdk_frame_timings_get_complete(timings))
                        return;
                current.reported++;
                presented_us = gdk_frame_timings_get_presentation_time(timings);
                /* Not every backend knows; then it is when we were told that it is done. */
                if (presented_us < gdk_frame_timings_get_frame_time(timings))
                        presented_us = g_get_monotonic_time();
                DT_INSTANT_ON(frames,
                              &display,
                              "presented",
                              DT_AT(boot_ns(presented_us)),
                              DT_FLOW_END(dt_flow_id((guint64)current.reported)));
        }
}

static void on_frame_end(GdkFrameClock *clock, gpointer userdata) {
        end_phase();
        if (current.is_in_frame)
                DT_SLICE_END(frames);
        current.is_in_frame = FALSE;
        DT_COUNTER_ON(frames, &frame_time, g_get_monotonic_time() - current.began_us);
        DT_COUNTER_DOUBLE_ON(frames, &frame_rate, gdk_frame_clock_get_fps(clock));
        report_presented(clock);
}

static void on_realize(GtkWidget *window, gpointer userdata) {
        static const char *const phases[] = {
                "before-paint", "update", "layout", "paint", "after-paint"
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(phases); i++)
                g_signal_add_emission_hook(g_signal_lookup(phases[i], GDK_TYPE_FRAME_CLOCK),
                                           0,
                                           on_phase,
                                           (gpointer)phases[i],
                                           NULL);
        g_signal_connect_after(
                gtk_widget_get_frame_clock(window), "after-paint", G_CALLBACK(on_frame_end), NULL);
}

/*
 * Something to see
 */

static void
on_draw(GtkDrawingArea *area, cairo_t *cairo, int width, int height, gpointer userdata) {
        const double turn = (double)(g_get_monotonic_time() % G_USEC_PER_SEC) / G_USEC_PER_SEC;

        DT_SLICE(drawing, "on_draw", DT_INT("width", width), DT_INT("height", height));
        cairo_arc(cairo, width / 2.0, height / 2.0, height / 3.0, 0, turn * 2 * G_PI);
        cairo_stroke(cairo);
}

static gboolean on_tick(GtkWidget *area, GdkFrameClock *clock, gpointer userdata) {
        DT_SLICE(drawing, "on_tick");
        gtk_widget_queue_draw(area);
        return G_SOURCE_CONTINUE;
}

static void on_activate(GtkApplication *application, gpointer userdata) {
        GtkWidget *window = gtk_application_window_new(application);
        GtkWidget *area = gtk_drawing_area_new();

        gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), on_draw, NULL, NULL);
        gtk_widget_add_tick_callback(area, on_tick, NULL, NULL);
        gtk_window_set_default_size(GTK_WINDOW(window), 300, 300);
        gtk_window_set_child(GTK_WINDOW(window), area);
        g_signal_connect(window, "realize", G_CALLBACK(on_realize), NULL);
        gtk_window_present(GTK_WINDOW(window));
        g_timeout_add_once((guint)(seconds * 1000), (GSourceOnceFunc)gtk_window_destroy, window);
}

int main(int argc, char **argv) {
        g_autoptr(GtkApplication) application = NULL;

        if (argc == 3 && strcmp(argv[1], "--seconds") == 0)
                seconds = g_ascii_strtod(argv[2], NULL);
        dt_init(NULL);
        dt_thread_set_name("GTK");
        g_log_set_writer_func(dt_glib_log_writer, NULL, NULL);
        if (!gtk_init_check())
                return 77; /* there is no display */
        application = gtk_application_new(NULL, G_APPLICATION_NON_UNIQUE);
        g_signal_connect(application, "activate", G_CALLBACK(on_activate), NULL);
        return g_application_run(G_APPLICATION(application), 1, argv);
}
