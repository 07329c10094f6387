/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * GStreamer tracer: what elements do, as slices of the threads that do it
 *
 * GStreamer loads it where GST_TRACERS names it, and calls its hooks whether anything is recorded or not: if nothing
 * is, each call costs one load and one branch. A push into an element is a slice with the element's name. As elements
 * push from within their chain functions, slices are nested as the elements are. Queues end that: what comes out of
 * one is pushed by another thread, so an arrow leads there with the buffer. What a queue holds are counters, at most
 * ten times a second.
 */

#define GST_USE_UNSTABLE_API /* of tracers, by which GStreamer means that hooks may get more arguments */

#include <desktrace/track-event.h>
#include <gst/gst.h>
#include <gst/gsttracer.h>

#define LEVELS_PERIOD_US 100000

DT_CATEGORY(gst, "gstreamer", "Buffers on their way through the elements of GStreamer");

typedef struct Desktrace {
        GstTracer parent;
} Desktrace;

typedef struct DesktraceClass {
        GstTracerClass parent_class;
} DesktraceClass;

GType desktrace_get_type(void);
G_DEFINE_TYPE(Desktrace, desktrace, GST_TYPE_TRACER)

/* Counters of a queue; they live as long as it. */
typedef struct Levels {
        char name[64];
        dt_track track, buffers, bytes, time;
        gint64 written_us;
} Levels;

static GQuark levels_quark;

/*
 * Elements
 */

/* The one that a pad belongs to, or NULL; to be unreferenced. Its name cannot change while it has a parent. */
static GstElement *element_of(GstPad *pad) {
        return pad ? gst_pad_get_parent_element(pad) : NULL;
}

static GstElement *element_behind(GstPad *pad) {
        GstPad *peer = gst_pad_get_peer(pad);
        GstElement *element = element_of(peer);

        if (peer)
                gst_object_unref(peer);
        return element;
}

static gboolean is_queue(GstElement *element) {
        return element && g_str_has_prefix(G_OBJECT_TYPE_NAME(element), "GstQueue");
}

static const char *name_of(GstElement *element) {
        return element ? GST_OBJECT_NAME(element) : "bin";
}

static void drop(GstElement *element) {
        if (element)
                gst_object_unref(element);
}

/*
 * Levels of queues
 */

/* Made by the thread that pushes into the queue, and only one does at a time. */
static Levels *levels_of(GstElement *queue) {
        Levels *levels = g_object_get_qdata(G_OBJECT(queue), levels_quark);

        if (levels)
                return levels;
        levels = g_new0(Levels, 1);
        g_strlcpy(levels->name, GST_OBJECT_NAME(queue), sizeof(levels->name));
        levels->track = (dt_track)DT_TRACK(levels->name, (uintptr_t)queue);
        levels->buffers = (dt_track)DT_COUNTER_TRACK_UNDER(&levels->track, "buffers", NULL);
        levels->bytes = (dt_track)DT_COUNTER_TRACK_UNDER(&levels->track, "bytes", "bytes");
        levels->time = (dt_track)DT_COUNTER_TRACK_UNDER(&levels->track, "time", "ns");
        g_object_set_qdata_full(G_OBJECT(queue), levels_quark, levels, g_free);
        return levels;
}

static void write_levels(GstElement *queue) {
        Levels *levels = levels_of(queue);
        const gint64 now_us = g_get_monotonic_time();
        guint buffers = 0, bytes = 0;
        guint64 time = 0;

        if (now_us < levels->written_us + LEVELS_PERIOD_US ||
            !g_object_class_find_property(G_OBJECT_GET_CLASS(queue), "current-level-time"))
                return;
        levels->written_us = now_us;
        g_object_get(queue,
                     "current-level-buffers",
                     &buffers,
                     "current-level-bytes",
                     &bytes,
                     "current-level-time",
                     &time,
                     NULL);
        dt_counter_int(&gst, &levels->buffers, (int64_t)buffers);
        dt_counter_int(&gst, &levels->bytes, (int64_t)bytes);
        dt_counter_int(&gst, &levels->time, (int64_t)time);
}

/*
 * Buffers
 */

/* An arrow goes with the buffer from the push into a queue to the one out of it. */
static void begin_push(GstPad *pad, const void *data, gsize n_bytes) {
        GstElement *from = element_of(pad), *to = element_behind(pad);
        dt_arg args[3];
        size_t n = 0;

        if (n_bytes > 0)
                args[n++] = DT_UINT("bytes", n_bytes);
        if (is_queue(from))
                args[n++] = DT_FLOW_END(dt_flow_id((uintptr_t)data));
        if (is_queue(to))
                args[n++] = DT_FLOW(dt_flow_id((uintptr_t)data));
        dt_slice_begin(&gst, NULL, name_of(to), args, n);
        if (is_queue(to))
                write_levels(to);
        drop(from);
        drop(to);
}

static void on_push(Desktrace *tracer, guint64 ts, GstPad *pad, GstBuffer *buffer) {
        if (dt_category_enabled(&gst))
                begin_push(pad, buffer, gst_buffer_get_size(buffer));
}

static void on_push_list(Desktrace *tracer, guint64 ts, GstPad *pad, GstBufferList *list) {
        if (dt_category_enabled(&gst))
                begin_push(pad, list, gst_buffer_list_calculate_size(list));
}

static void on_pull(Desktrace *tracer, guint64 ts, GstPad *pad, guint64 offset, guint n_bytes) {
        GstElement *from;

        if (!dt_category_enabled(&gst))
                return;
        from = element_behind(pad);
        DT_SLICE_BEGIN(gst, name_of(from), DT_UINT("bytes", n_bytes), DT_UINT("offset", offset));
        drop(from);
}

static void on_done(Desktrace *tracer, guint64 ts, GstPad *pad) {
        DT_SLICE_END(gst);
}

/*
 * Messages and states
 */

static void on_message(Desktrace *tracer, guint64 ts, GstElement *element, GstMessage *message) {
        guint64 processed, dropped;
        gdouble proportion;
        gint64 jitter;
        GstFormat format;

        /* Bins post what their elements have posted. */
        if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_QOS ||
            GST_MESSAGE_SRC(message) != GST_OBJECT(element) || !dt_category_enabled(&gst))
                return;
        gst_message_parse_qos_values(message, &jitter, &proportion, NULL);
        gst_message_parse_qos_stats(message, &format, &processed, &dropped);
        DT_INSTANT(gst,
                   "late buffer",
                   DT_STRING("element", GST_OBJECT_NAME(element)),
                   DT_INT("jitter_ns", jitter),
                   DT_DOUBLE("proportion", proportion),
                   DT_UINT("dropped", dropped));
}

static void
on_state(Desktrace *tracer, guint64 ts, GstElement *element, GstStateChange transition) {
        DT_SLICE_BEGIN(gst,
                       gst_state_change_get_name(transition),
                       DT_STRING("element", GST_OBJECT_NAME(element)));
}

static void on_state_done(Desktrace *tracer,
                          guint64 ts,
                          GstElement *element,
                          GstStateChange transition,
                          GstStateChangeReturn result) {
        DT_SLICE_END(gst);
}

static void desktrace_class_init(DesktraceClass *class) {
        levels_quark = g_quark_from_static_string("desktrace-levels");
}

static void desktrace_init(Desktrace *self) {
        static const struct {
                const char *hook;
                GCallback function;
        } hooks[] = {
                { "pad-push-pre", G_CALLBACK(on_push) },
                { "pad-push-post", G_CALLBACK(on_done) },
                { "pad-push-list-pre", G_CALLBACK(on_push_list) },
                { "pad-push-list-post", G_CALLBACK(on_done) },
                { "pad-pull-range-pre", G_CALLBACK(on_pull) },
                { "pad-pull-range-post", G_CALLBACK(on_done) },
                { "element-post-message-pre", G_CALLBACK(on_message) },
                { "element-change-state-pre", G_CALLBACK(on_state) },
                { "element-change-state-post", G_CALLBACK(on_state_done) },
        };

        (void)dt_init(NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(hooks); i++)
                gst_tracing_register_hook(GST_TRACER(self), hooks[i].hook, hooks[i].function);
}

static gboolean plugin_init(GstPlugin *plugin) {
        return gst_tracer_register(plugin, "desktrace", desktrace_get_type());
}

#define PACKAGE "desktrace"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR,
                  GST_VERSION_MINOR,
                  desktrace,
                  "Records what elements do with the Desktrace service",
                  plugin_init,
                  DESKTRACE_VERSION,
                  "LGPL",
                  "Desktrace",
                  "desktrace")
