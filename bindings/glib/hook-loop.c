/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Hooks into the main loop: its turns, and single sources.
 *
 * A turn of the loop is shown on a track of its own below the thread's: it may begin in one callback and end in
 * another (a loop within a loop), and would else come between the begins and ends of the program's own slices. A
 * source's dispatch is strictly within the turn, so it is a slice of the thread, with what the program does inside.
 */

#include "private.h"

DT_CATEGORY(loop_category, "glib.loop", "Turns of GLib's main loops: waiting and dispatching");
DT_CATEGORY(source_category, "glib.source", "Dispatches of single GLib sources");

static const dt_track loop_track = DT_TRACK_UNDER(&dt_thread_track, "main loop", 0);

/* A poll function is not told whose it is, so there is one of before for all contexts. */
static GMutex poll_lock;
static GPollFunc poll_before;

static __thread unsigned
        n_dispatching; /* one for each loop that runs, loops in callbacks included */

/* Ends what loops that are deeper than `depth` have begun: the last turn of a loop has no poll behind it. */
static void end_dispatching(unsigned depth) {
        for (; n_dispatching > depth; n_dispatching--)
                DT_SLICE_END_ON(loop_category, &loop_track);
}

static gint traced_poll(GPollFD *fds, guint n_fds, gint timeout_ms) {
        GPollFunc before = g_atomic_pointer_get(&poll_before);
        gint n_ready;

        end_dispatching((unsigned)g_main_depth());
        DT_SLICE_BEGIN_ON(loop_category, &loop_track, "poll", DT_INT("timeout ms", timeout_ms));
        n_ready = before(fds, n_fds, timeout_ms);
        DT_SLICE_END_ON_WITH(loop_category, &loop_track, DT_INT("ready", n_ready));
        DT_SLICE_BEGIN_ON(loop_category, &loop_track, "dispatch");
        n_dispatching++;
        return n_ready;
}

/**
 * dt_glib_trace_main_context:
 * @context: (nullable): a main context; %NULL: the default one
 *
 * Records the turns of the loops that run @context from now on, in the category "glib.loop": how long each waits
 * ("poll") and works ("dispatch"), on a track "main loop" below the thread's. Calls the poll function that the context
 * has; set one of your own before. The last "dispatch" of a loop ends with the next turn of the loop around it, or with
 * dt_glib_untrace_main_context().
 *
 * Returns: %FALSE: another context with another poll function is traced already, so this one is not
 */
gboolean dt_glib_trace_main_context(GMainContext *context) {
        GPollFunc now = g_main_context_get_poll_func(context);
        gboolean can_trace;

        if (now == traced_poll)
                return TRUE;
        g_mutex_lock(&poll_lock);
        can_trace = !poll_before || poll_before == now;
        if (can_trace)
                g_atomic_pointer_set(&poll_before, now);
        g_mutex_unlock(&poll_lock);
        if (can_trace)
                g_main_context_set_poll_func(context, traced_poll);
        return can_trace;
}

/**
 * dt_glib_untrace_main_context:
 * @context: (nullable): a main context; %NULL: the default one
 *
 * Gives @context the poll function that it had before dt_glib_trace_main_context(), and ends what is recorded of the
 * calling thread's loops. To be called on the thread that runs them.
 */
void dt_glib_untrace_main_context(GMainContext *context) {
        end_dispatching(0);
        if (g_main_context_get_poll_func(context) == traced_poll)
                g_main_context_set_poll_func(context, g_atomic_pointer_get(&poll_before));
}

/*
 * Sources
 */

/* What a kind of source does, with a dispatch that records. One for each kind; a source may be traced for as long as
 * it lives, so they are never freed. */
typedef struct TracedFuncs {
        GSourceFuncs funcs; /* first: a source points here */
        const GSourceFuncs *before;
        struct TracedFuncs *next;
} TracedFuncs;

static GMutex sources_lock;
static TracedFuncs *traced_funcs;

static void leave_source(const dt_category **category) {
        if (*category)
                dt_slice_end(*category, NULL);
}

static gboolean traced_dispatch(GSource *source, GSourceFunc callback, gpointer userdata) {
        const TracedFuncs *traced = (const TracedFuncs *)source->source_funcs;
        const char *name = g_source_get_name(source);
        __attribute__((__unused__, __cleanup__(leave_source))) const dt_category *recorded =
                dt_category_enabled(&source_category) ? &source_category : NULL;

        DT_SLICE_BEGIN(source_category,
                       name ? name : "source",
                       DT_UINT("id", source->source_id),
                       DT_INT("priority", source->priority));
        return traced->before->dispatch(source, callback, userdata);
}

/* With the lock held. The functions of a plugin that was unloaded may be others than those of this address before. */
static GSourceFuncs *traced_of(const GSourceFuncs *before) {
        TracedFuncs *traced;

        for (traced = traced_funcs; traced; traced = traced->next)
                if (traced->before == before && traced->funcs.prepare == before->prepare &&
                    traced->funcs.check == before->check &&
                    traced->funcs.finalize == before->finalize)
                        return &traced->funcs;
        traced = g_new0(TracedFuncs, 1);
        traced->funcs = *before;
        traced->funcs.dispatch = traced_dispatch;
        traced->before = before;
        traced->next = traced_funcs;
        traced_funcs = traced;
        return &traced->funcs;
}

/* One that is attached is changed while nobody else runs its context. */
static gboolean set_funcs(GSource *source, GSourceFuncs *funcs) {
        GMainContext *context = g_source_get_context(source);

        if (!context) {
                g_source_set_funcs(source, funcs);
                return TRUE;
        }
        if (!g_main_context_acquire(context))
                return FALSE;
        source->source_funcs = funcs;
        g_main_context_release(context);
        return TRUE;
}

/**
 * dt_glib_trace_source:
 * @source: a source whose callback is set already
 * @name: (nullable): what to call it, also for GLib itself; %NULL: the name that it has
 *
 * Records each dispatch of @source as a slice of the thread that runs it, in the category "glib.source", with the
 * source's id and priority. A source without a name is called "source".
 *
 * Returns: %FALSE: it is destroyed, or another thread runs its context, so nothing has changed
 */
gboolean dt_glib_trace_source(GSource *source, const char *name) {
        gboolean is_traced;

        if (g_source_is_destroyed(source))
                return FALSE;
        g_mutex_lock(&sources_lock);
        is_traced = source->source_funcs->dispatch == traced_dispatch ||
                    set_funcs(source, traced_of(source->source_funcs));
        g_mutex_unlock(&sources_lock);
        if (is_traced && name)
                g_source_set_name(source, name);
        return is_traced;
}
