/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What libdesktrace-glib has: events of each kind, a main loop within another, sources, and a frame clock that has no
 * more than the signals of GTK's. glib.sh counts what comes of it.
 *
 *      glib-app [hooks|events|refused]
 */

#include <string.h>

#include <desktrace/desktrace-glib.h>

#define N_EVENTS 10
#define N_TURNS  20
#define N_FRAMES 12

#define CHECK(what)                                                              \
        do {                                                                     \
                if (!(what))                                                     \
                        g_error("%s:%d: not so: %s", __FILE__, __LINE__, #what); \
        } while (0)

/*
 * A frame clock
 */

typedef GObject Clock;
typedef GObjectClass ClockClass;

static GType clock_get_type(void);
G_DEFINE_TYPE(Clock, clock, G_TYPE_OBJECT)

static const char *const phases[] = {
        "flush-events", "before-paint", "update", "layout", "paint", "after-paint", "resume-events",
};

static void clock_class_init(ClockClass *class) {
        for (guint i = 0; i < G_N_ELEMENTS(phases); i++)
                g_signal_new(phases[i],
                             G_TYPE_FROM_CLASS(class),
                             G_SIGNAL_RUN_LAST,
                             0,
                             NULL,
                             NULL,
                             NULL,
                             G_TYPE_NONE,
                             0);
}

static void clock_init(Clock *clock) {
}

static DtGlibCategory *app;

/* As GTK itself does: older than the hook. */
static void on_layout(Clock *clock, gpointer userdata) {
        dt_glib_category_begin(app, "lay out", NULL);
        dt_glib_category_end(app, NULL);
}

static gboolean run_frames(gpointer userdata) {
        static unsigned n;

        for (guint i = 0; i < G_N_ELEMENTS(phases); i++)
                if (strcmp(phases[i], "update") != 0 ||
                    n % 2 == 0) /* each only if there is something to do */
                        g_signal_emit_by_name(userdata, phases[i]);
        return ++n < N_FRAMES ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/*
 * Sources, loops
 */

static gboolean on_quit(gpointer loop) {
        g_main_loop_quit(loop);
        return G_SOURCE_REMOVE;
}

static gboolean on_dialog(gpointer userdata) {
        g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);

        dt_glib_category_begin(app, "dialog", NULL);
        g_timeout_add(5, on_quit, loop);
        g_main_loop_run(loop);
        dt_glib_category_end(app, NULL);
        return G_SOURCE_REMOVE;
}

static gboolean on_turn(gpointer loop) {
        static unsigned n;

        dt_glib_category_instant(app, "turn", NULL);
        if (++n < N_TURNS)
                return G_SOURCE_CONTINUE;
        g_main_loop_quit(loop);
        return G_SOURCE_REMOVE;
}

static gpointer run_context(gpointer context) {
        g_autoptr(GMainLoop) loop = g_main_loop_new(context, FALSE);
        g_autoptr(GSource) source = g_timeout_source_new(30);

        g_source_set_callback(source, on_quit, loop, NULL);
        g_source_attach(source, context);
        g_main_loop_run(loop);
        return NULL;
}

static void trace_turns(GMainLoop *loop) {
        g_autoptr(GSource) turns = g_timeout_source_new(2);

        g_source_set_callback(turns, on_turn, loop, NULL);
        CHECK(dt_glib_trace_source(turns, "turns"));
        CHECK(dt_glib_trace_source(turns, NULL)); /* once is enough */
        g_source_attach(turns, NULL);
}

static void emit_hooks(void) {
        g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
        g_autoptr(GMainContext) other = g_main_context_new();
        g_autoptr(GObject) clock = g_object_new(clock_get_type(), NULL);
        g_autoptr(GObject) untraced = g_object_new(clock_get_type(), NULL);
        guint id;

        g_signal_connect(clock, "layout", G_CALLBACK(on_layout), NULL);
        CHECK(dt_glib_trace_frame_clock(clock));
        CHECK(dt_glib_trace_frame_clock(clock));
        CHECK(dt_glib_trace_main_context(other));
        g_signal_emit_by_name(untraced, "paint");
        trace_turns(loop);
        id = g_idle_add(run_frames, clock); /* attached already */
        CHECK(dt_glib_trace_source(g_main_context_find_source_by_id(NULL, id), "frames"));
        g_idle_add(on_dialog, NULL);
        g_main_loop_run(loop);
        g_thread_join(g_thread_new("other loop", run_context, other));
        dt_glib_untrace_main_context(NULL);
        CHECK(g_main_context_get_poll_func(NULL) == g_poll);
}

/*
 * Events
 */

static GVariant *new_nested(unsigned depth) {
        GVariant *value = g_variant_new_string("deep");

        for (unsigned i = 0; i < depth; i++)
                value = g_variant_new("(v)", value);
        return value;
}

static DtGlibArgs *new_args(gint64 number) {
        DtGlibArgs *args = dt_glib_args_new();

        dt_glib_args_add_int(args, "number", number);
        dt_glib_args_add_uint(args, "size", G_MAXUINT64);
        dt_glib_args_add_double(args, "share", 0.5);
        dt_glib_args_add_boolean(args, "is even", number % 2 == 0);
        dt_glib_args_add_string(args, "text", "of the event");
        dt_glib_args_add_string(args, "none", NULL);
        dt_glib_args_add_variant(
                args,
                "nested",
                g_variant_new_parsed(
                        "{'width': <3>, 'heights': <[1.0, 2.5]>, 'who': <('bus', @ay [])>}"));
        dt_glib_args_add_variant(args, "deep", new_nested(40));
        return args;
}

/* More arguments than there is room for: what fits is recorded, and what was opened is closed. */
static void emit_too_much(void) {
        g_autoptr(DtGlibArgs) args = dt_glib_args_new();
        g_autofree char *text = g_strnfill(DT_GLIB_ARGS_TEXT_MAX, 'x');
        GVariantBuilder builder;

        g_variant_builder_init(&builder, G_VARIANT_TYPE("aai"));
        for (int i = 0; i < 100; i++)
                g_variant_builder_add_parsed(&builder, "[%i]", i);
        dt_glib_args_add_string(args, "too long", text);
        dt_glib_args_add_variant(args, "too many", g_variant_builder_end(&builder));
        for (int i = 0; i < 2 * DT_GLIB_ARGS_MAX; i++)
                dt_glib_args_add_int(args, "more", i);
        dt_glib_category_instant(app, "too much", args);
}

static void emit_tracks(guint64 number, DtGlibTrack *queue, DtGlibTrack *state) {
        dt_glib_category_begin_on(app, queue, "on a track", NULL);
        dt_glib_category_instant_on(app, queue, "instant on it", NULL);
        dt_glib_category_end_on(app, queue, NULL);
        dt_glib_category_state(app, state, number % 2 ? "odd" : "even", NULL);
        dt_glib_category_mark(app, queue, "mark", dt_glib_now_ns() - 1000, 500, NULL);
}

static void emit_overlapping(DtGlibLanes *lanes) {
        DtGlibSlice *first = dt_glib_category_start(app, lanes, "request", NULL);
        g_autoptr(DtGlibSlice) second = dt_glib_category_start(app, lanes, "request", NULL);

        dt_glib_slice_end(first, NULL);
        dt_glib_slice_end(first, NULL);
        dt_glib_slice_unref(first);
        /* the second one ends with its reference */
}

static void emit_events(void) {
        g_autoptr(DtGlibTrack) thread = dt_glib_track_new_of_thread();
        g_autoptr(DtGlibTrack) queue = dt_glib_track_new("queue", 1, thread);
        g_autoptr(DtGlibTrack) state = dt_glib_track_new("state", 0, NULL);
        g_autoptr(DtGlibTrack) memory = dt_glib_track_new_counter("memory", NULL, NULL);
        g_autoptr(DtGlibLanes) lanes = dt_glib_lanes_new("requests", 0);

        CHECK(dt_glib_track_describe(state, "odd or even", DT_GLIB_ORDER_DEFAULT, 3));
        CHECK(!dt_glib_track_describe(state, "something else", DT_GLIB_ORDER_DEFAULT, 3));
        CHECK(dt_glib_track_describe_counter(memory, NULL, DT_GLIB_UNIT_SIZE_BYTES, 1024, NULL));
        for (guint64 number = 0; number < N_EVENTS; number++) {
                g_autoptr(DtGlibArgs) args = new_args((gint64)number);
                g_autoptr(DtGlibArgs) end = dt_glib_args_new();

                dt_glib_category_begin(app, "step", args);
                emit_tracks(number, queue, state);
                emit_overlapping(lanes);
                dt_glib_category_count(app, "steps", (gint64)number);
                dt_glib_category_count_double(app, "share", 0.1 * (double)number);
                dt_glib_category_count_on(app, memory, (gint64)number);
                dt_glib_category_end(app, dt_glib_args_add_boolean(end, "done at the end", TRUE));
        }
        emit_too_much();
}

/* What cannot be hooked says so, and nothing has changed. */

static gint own_poll(GPollFD *fds, guint n_fds, gint timeout_ms) {
        return g_poll(fds, n_fds, timeout_ms);
}

static void refuse(void) {
        g_autoptr(GObject) no_clock = g_object_new(G_TYPE_OBJECT, NULL);
        g_autoptr(GMainContext) other = g_main_context_new();
        g_autoptr(GSource) destroyed = g_idle_source_new();

        CHECK(!dt_glib_trace_frame_clock(no_clock));
        CHECK(dt_glib_trace_main_context(NULL));
        g_main_context_set_poll_func(other, own_poll);
        CHECK(!dt_glib_trace_main_context(other));
        CHECK(g_main_context_get_poll_func(other) == own_poll);
        g_source_destroy(destroyed);
        CHECK(!dt_glib_trace_source(destroyed, NULL));
        CHECK(!dt_glib_trigger(""));
}

int main(int argc, char **argv) {
        CHECK(dt_glib_init());
        dt_glib_thread_set_name("the main thread");
        app = dt_glib_category_new("glib-app", "What this test does", NULL);
        CHECK(dt_glib_category_is_enabled(app) == dt_glib_is_recording());
        if (argc > 1 && strcmp(argv[1], "hooks") == 0)
                emit_hooks();
        else if (argc > 1 && strcmp(argv[1], "refused") == 0)
                refuse();
        else
                emit_events();
        return 0;
}
