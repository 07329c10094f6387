/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program with GLib's main loop: each turn of the loop is a slice, and a job that takes several turns has a track
 * of its own.
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

DT_CATEGORY(loop, "loop", "Callbacks of the main loop");
DT_CATEGORY(jobs, "jobs", "Work that goes over several turns");

#define TURNS_OF_A_JOB 5

typedef struct Job {
        unsigned number;
        unsigned n_turns;
        GChecksum *checksum;
} Job;

static gboolean on_job(gpointer userdata) {
        const dt_track track = DT_TRACK("job", 0);
        static guchar data[1 << 16];
        Job *job = userdata;

        DT_SLICE(loop, "on_job", DT_UINT("turn", job->n_turns));

        if (job->n_turns == 0) {
                job->checksum = g_checksum_new(G_CHECKSUM_SHA256);
                DT_SLICE_BEGIN_ON(jobs, &track, "checksum", DT_UINT("number", job->number));
        }
        g_checksum_update(job->checksum, data, sizeof(data));
        if (++job->n_turns < TURNS_OF_A_JOB)
                return G_SOURCE_CONTINUE;

        DT_INSTANT_ON(
                jobs, &track, "result", DT_STRING("sha256", g_checksum_get_string(job->checksum)));
        DT_SLICE_END_ON(jobs, &track);
        g_checksum_free(job->checksum);
        job->n_turns = 0;
        job->number++;
        DT_COUNTER(jobs, "jobs done", job->number);
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
        g_log_set_writer_func(dt_glib_log_writer, NULL, NULL);
        g_timeout_add(4, on_job, &job);
        g_timeout_add((guint)(seconds * 1000), on_end, main_loop);
        g_main_loop_run(main_loop);
        if (job.n_turns > 0)
                g_checksum_free(job.checksum);
        return 0;
}
