/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program with GLib's main loop: how long each turn waits and works, which callback it works in, a job that takes
 * several turns, and a main loop inside of a callback, as a modal dialog has.
 *
 *      glib-desktrace [--seconds N]
 *
 * libdesktrace needs nothing from the main loop, and adds nothing to it. What the program logs is in its trace, too.
 */

#define G_LOG_DOMAIN         "glib-desktrace"
#define G_LOG_USE_STRUCTURED 1 /* messages know their place in the source */

#include <glib.h>
#include <string.h>

#include <desktrace/glib.h>
#include <desktrace/track-event.h>

DT_CATEGORY(loop, "loop", "Turns of the main loop, and its callbacks");
DT_CATEGORY(jobs, "jobs", "Work that goes over several turns");

#define TURNS_OF_A_JOB  5
#define JOBS_FOR_DIALOG 4
#define DIALOG_MS       20

typedef struct Job {
        unsigned number;
        unsigned n_turns;
        GChecksum *checksum;
} Job;

/*
 * The loop itself. A turn dispatches from the end of one poll to the begin of the next.
 */

static unsigned n_dispatching; /* one for each loop that runs, those within callbacks included */

/* Ends what loops that are deeper than this have begun; the last turn of a loop has no poll behind it. */
static void end_dispatching(unsigned depth) {
        for (; n_dispatching > depth; n_dispatching--)
                DT_SLICE_END(loop);
}

static gint traced_poll(GPollFD *fds, guint n_fds, gint timeout_ms) {
        gint n_ready;

        end_dispatching((unsigned)g_main_depth());
        DT_SLICE_BEGIN(loop, "poll", DT_INT("timeout ms", timeout_ms));
        n_ready = g_poll(fds, n_fds, timeout_ms);
        DT_SLICE_END_WITH(loop, DT_INT("ready", n_ready));
        DT_SLICE_BEGIN(loop, "dispatch");
        n_dispatching++;
        return n_ready;
}

static gboolean on_answer(gpointer main_loop) {
        g_main_loop_quit(main_loop);
        return G_SOURCE_REMOVE;
}

static void run_dialog(void) {
        g_autoptr(GMainLoop) main_loop = g_main_loop_new(NULL, FALSE);

        g_timeout_add(DIALOG_MS, on_answer, main_loop);
        g_main_loop_run(main_loop);
        end_dispatching((unsigned)g_main_depth());
}

/*
 * What runs in it
 */

/* The jobs' timer goes on meanwhile, in the dialog's loop. */
static gboolean on_dialog(gpointer userdata) {
        DT_SLICE(loop, "on_dialog");
        run_dialog();
        return G_SOURCE_REMOVE;
}

static const dt_track row_of_jobs = DT_TRACK("job", 0);

static void begin_job(Job *job) {
        job->checksum = g_checksum_new(G_CHECKSUM_SHA256);
        DT_SLICE_BEGIN_ON(jobs,
                          &row_of_jobs,
                          "checksum",
                          DT_UINT("number", job->number),
                          DT_FLOW(dt_flow_id(job->number)));
}

static void end_job(Job *job) {
        DT_INSTANT_ON(jobs,
                      &row_of_jobs,
                      "result",
                      DT_STRING("sha256", g_checksum_get_string(job->checksum)));
        DT_SLICE_END_ON(jobs, &row_of_jobs);
        g_checksum_free(job->checksum);
        job->n_turns = 0;
        job->number++;
        DT_COUNTER(jobs, "jobs done", job->number);
        if (job->number % JOBS_FOR_DIALOG == 0)
                g_idle_add(on_dialog, NULL);
}

static gboolean on_job(gpointer userdata) {
        static guchar data[1 << 16];
        Job *job = userdata;

        if (job->n_turns == 0)
                begin_job(job);

        DT_SLICE(loop, "on_job", DT_UINT("turn", job->n_turns), DT_FLOW(dt_flow_id(job->number)));
        g_checksum_update(job->checksum, data, sizeof(data));
        if (++job->n_turns == TURNS_OF_A_JOB)
                end_job(job);
        return G_SOURCE_CONTINUE;
}

static gboolean on_end(gpointer main_loop) {
        DT_INSTANT(loop, "end");
        g_debug("the time is up");
        g_main_loop_quit(main_loop);
        return G_SOURCE_REMOVE;
}

int main(int argc, char **argv) {
        g_autoptr(GMainLoop) main_loop = g_main_loop_new(NULL, FALSE);
        double seconds = 5;
        Job job = { 0 };

        if (argc == 3 && strcmp(argv[1], "--seconds") == 0)
                seconds = g_ascii_strtod(argv[2], NULL);
        dt_init(NULL);
        dt_thread_set_name("main loop");
        g_log_set_writer_func(dt_glib_log_writer, NULL, NULL);
        g_main_context_set_poll_func(NULL, traced_poll);
        g_timeout_add(4, on_job, &job);
        g_timeout_add((guint)(seconds * 1000), on_end, main_loop);
        g_main_loop_run(main_loop);
        end_dispatching(0);
        if (job.n_turns > 0)
                end_job(&job);
        return 0;
}
