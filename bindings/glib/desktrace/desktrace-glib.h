/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track events for GLib programs, and for every language that GObject introspection reaches
 *
 *      const { Desktrace } = imports.gi;
 *
 *      Desktrace.init();
 *      const render = Desktrace.Category.new('render', 'Frames and what they wait for', null);
 *
 *      render.begin('frame', Desktrace.Args.new().add_int('number', 7));
 *      render.count('fps', 60);
 *      render.end(null);
 *
 * It is made of the functions of <desktrace/track-event.h> alone. C programs use those directly, which is cheaper, and
 * take from here what hooks into GLib: dt_glib_trace_main_context(), dt_glib_trace_source() and
 * dt_glib_trace_frame_clock().
 *
 * All functions may be called from any thread unless they say otherwise, and none fails in a way that a program must
 * handle. While nobody records a category, an event of it does nothing; a caller for which computing the arguments is
 * expensive asks dt_glib_category_is_enabled() before. Texts are UTF-8 and are copied.
 */

#include <glib-object.h>

G_BEGIN_DECLS

#define DT_GLIB_ARGS_MAX          64   /* of one event, those in dictionaries and arrays included */
#define DT_GLIB_ARGS_TEXT_MAX     8192 /* bytes of all names and texts of one event's arguments */
#define DT_GLIB_VARIANT_DEPTH_MAX 8    /* of dictionaries and arrays in each other */

typedef struct _DtGlibArgs DtGlibArgs;
typedef struct _DtGlibCategory DtGlibCategory;
typedef struct _DtGlibLanes DtGlibLanes;
typedef struct _DtGlibSlice DtGlibSlice;
typedef struct _DtGlibTrack DtGlibTrack;

/**
 * DtGlibUnit:
 * @DT_GLIB_UNIT_OTHER: the track's own text, if it has one
 * @DT_GLIB_UNIT_TIME_NS: nanoseconds
 * @DT_GLIB_UNIT_COUNT: a number of things
 * @DT_GLIB_UNIT_SIZE_BYTES: bytes
 *
 * What the values of a counter are.
 */
typedef enum {
        DT_GLIB_UNIT_OTHER,
        DT_GLIB_UNIT_TIME_NS,
        DT_GLIB_UNIT_COUNT,
        DT_GLIB_UNIT_SIZE_BYTES,
} DtGlibUnit;

/**
 * DtGlibOrder:
 * @DT_GLIB_ORDER_DEFAULT: the viewer's choice
 * @DT_GLIB_ORDER_BY_NAME: by name
 * @DT_GLIB_ORDER_BY_TIME: by the time of the first event
 * @DT_GLIB_ORDER_BY_RANK: by rank, the lowest first
 *
 * In which order viewers show the tracks below a track.
 */
typedef enum {
        DT_GLIB_ORDER_DEFAULT,
        DT_GLIB_ORDER_BY_NAME,
        DT_GLIB_ORDER_BY_TIME,
        DT_GLIB_ORDER_BY_RANK,
} DtGlibOrder;

/* The program */

gboolean dt_glib_init(void);
gboolean dt_glib_is_recording(void);
gboolean dt_glib_trigger(const char *name);
void dt_glib_process_set_name(const char *name);
void dt_glib_thread_set_name(const char *name);
guint64 dt_glib_flow_id(guint64 number);
guint64 dt_glib_now_ns(void);

/* Hooks */

gboolean dt_glib_trace_main_context(GMainContext *context);
void dt_glib_untrace_main_context(GMainContext *context);
gboolean dt_glib_trace_source(GSource *source, const char *name);
gboolean dt_glib_trace_frame_clock(GObject *clock);

/* Arguments */

#define DT_GLIB_TYPE_ARGS (dt_glib_args_get_type())
GType dt_glib_args_get_type(void);
DtGlibArgs *dt_glib_args_new(void);
DtGlibArgs *dt_glib_args_ref(DtGlibArgs *args);
void dt_glib_args_unref(DtGlibArgs *args);
DtGlibArgs *dt_glib_args_add_int(DtGlibArgs *args, const char *name, gint64 value);
DtGlibArgs *dt_glib_args_add_uint(DtGlibArgs *args, const char *name, guint64 value);
DtGlibArgs *dt_glib_args_add_double(DtGlibArgs *args, const char *name, double value);
DtGlibArgs *dt_glib_args_add_boolean(DtGlibArgs *args, const char *name, gboolean value);
DtGlibArgs *dt_glib_args_add_string(DtGlibArgs *args, const char *name, const char *value);
DtGlibArgs *dt_glib_args_add_variant(DtGlibArgs *args, const char *name, GVariant *value);
DtGlibArgs *dt_glib_args_add_flow(DtGlibArgs *args, guint64 id);
DtGlibArgs *dt_glib_args_add_flow_end(DtGlibArgs *args, guint64 id);
DtGlibArgs *dt_glib_args_add_log(DtGlibArgs *args, GLogLevelFlags level, const char *text);
DtGlibArgs *dt_glib_args_set_time(DtGlibArgs *args, guint64 time_ns);

/* Tracks */

#define DT_GLIB_TYPE_TRACK (dt_glib_track_get_type())
GType dt_glib_track_get_type(void);
DtGlibTrack *dt_glib_track_new(const char *name, guint64 id, DtGlibTrack *parent);
DtGlibTrack *dt_glib_track_new_counter(const char *name, const char *unit, DtGlibTrack *parent);
DtGlibTrack *dt_glib_track_new_of_thread(void);
DtGlibTrack *dt_glib_track_new_of_trace(void);
DtGlibTrack *dt_glib_track_ref(DtGlibTrack *track);
void dt_glib_track_unref(DtGlibTrack *track);
gboolean dt_glib_track_describe(DtGlibTrack *track,
                                const char *description,
                                DtGlibOrder child_order,
                                gint rank);
gboolean dt_glib_track_describe_counter(DtGlibTrack *track,
                                        const char *description,
                                        DtGlibUnit unit,
                                        gint64 multiplier,
                                        const char *y_axis);

#define DT_GLIB_TYPE_LANES (dt_glib_lanes_get_type())
GType dt_glib_lanes_get_type(void);
DtGlibLanes *dt_glib_lanes_new(const char *name, guint64 id);
DtGlibLanes *dt_glib_lanes_ref(DtGlibLanes *lanes);
void dt_glib_lanes_unref(DtGlibLanes *lanes);

/* Events */

#define DT_GLIB_TYPE_CATEGORY (dt_glib_category_get_type())
GType dt_glib_category_get_type(void);
DtGlibCategory *dt_glib_category_new(const char *name, const char *description, const char *tags);
gboolean dt_glib_category_is_enabled(DtGlibCategory *category);
void dt_glib_category_begin(DtGlibCategory *category, const char *name, DtGlibArgs *args);
void dt_glib_category_end(DtGlibCategory *category, DtGlibArgs *args);
void dt_glib_category_instant(DtGlibCategory *category, const char *name, DtGlibArgs *args);
void dt_glib_category_count(DtGlibCategory *category, const char *name, gint64 value);
void dt_glib_category_count_double(DtGlibCategory *category, const char *name, double value);
void dt_glib_category_begin_on(DtGlibCategory *category,
                               DtGlibTrack *track,
                               const char *name,
                               DtGlibArgs *args);
void dt_glib_category_end_on(DtGlibCategory *category, DtGlibTrack *track, DtGlibArgs *args);
void dt_glib_category_instant_on(DtGlibCategory *category,
                                 DtGlibTrack *track,
                                 const char *name,
                                 DtGlibArgs *args);
void dt_glib_category_count_on(DtGlibCategory *category, DtGlibTrack *track, gint64 value);
void dt_glib_category_count_double_on(DtGlibCategory *category, DtGlibTrack *track, double value);
void dt_glib_category_state(DtGlibCategory *category,
                            DtGlibTrack *track,
                            const char *name,
                            DtGlibArgs *args);
void dt_glib_category_mark(DtGlibCategory *category,
                           DtGlibTrack *track,
                           const char *name,
                           guint64 begin_ns,
                           guint64 duration_ns,
                           DtGlibArgs *args);
DtGlibSlice *dt_glib_category_start(DtGlibCategory *category,
                                    DtGlibLanes *lanes,
                                    const char *name,
                                    DtGlibArgs *args);

#define DT_GLIB_TYPE_SLICE (dt_glib_slice_get_type())
GType dt_glib_slice_get_type(void);
void dt_glib_slice_end(DtGlibSlice *slice, DtGlibArgs *args);
DtGlibSlice *dt_glib_slice_ref(DtGlibSlice *slice);
void dt_glib_slice_unref(DtGlibSlice *slice);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtGlibArgs, dt_glib_args_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtGlibLanes, dt_glib_lanes_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtGlibSlice, dt_glib_slice_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DtGlibTrack, dt_glib_track_unref)

G_END_DECLS
