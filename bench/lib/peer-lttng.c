/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * LTTng-UST as a flight recorder: nobody reads while it is measured. Names are those of the tracepoints, which costs
 * it nothing.
 */

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng-events.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

#define WAIT_NS   20000000
#define N_WAITS   250 /* five seconds until the tracepoints are enabled */
#define LINE_MAX_ 512

static char session[64];
static char pid_file[64]; /* of a daemon that we started; "": there was one */

static void emit_off(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                lttng_ust_tracepoint(desktrace_bench, off, i);
}

static void emit_instant(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                lttng_ust_tracepoint(desktrace_bench, instant);
}

static void emit_slice(unsigned n) {
        for (unsigned i = 0; i < n / 2; i++) {
                lttng_ust_tracepoint(desktrace_bench, begin);
                lttng_ust_tracepoint(desktrace_bench, end);
        }
}

static void emit_args(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                lttng_ust_tracepoint(desktrace_bench, args, i, "sixteen letters.");
}

static void emit_counter(unsigned n) {
        for (unsigned i = 0; i < n; i++)
                lttng_ust_tracepoint(desktrace_bench, counter, i);
}

__attribute__((__format__(__printf__, 1, 2))) static bool run(const char *format, ...) {
        char line[LINE_MAX_];
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vsnprintf(line, sizeof(line), format, arguments);
        va_end(arguments);
        snprintf(line + n, sizeof(line) - (size_t)n, " >/dev/null 2>&1");
        return system(line) == 0;
}

static bool have_daemon(void) {
        if (run("lttng --no-sessiond list"))
                return true;
        snprintf(pid_file, sizeof(pid_file), "/tmp/bench-lttng-%d.pid", (int)getpid());
        return run("lttng-sessiond --daemonize --no-kernel --pidfile=%s", pid_file);
}

static bool is_enabled(void) {
        const struct timespec pause = { .tv_nsec = WAIT_NS };

        for (unsigned i = 0; i < N_WAITS; i++) {
                if (lttng_ust_tracepoint_enabled(desktrace_bench, instant) &&
                    lttng_ust_tracepoint_enabled(desktrace_bench, counter) &&
                    lttng_ust_tracepoint_enabled(desktrace_bench, args))
                        return true;
                nanosleep(&pause, NULL);
        }
        return false;
}

static const char *begin(void) {
        if (!have_daemon())
                return "lttng-sessiond (package lttng-tools) does not start";
        snprintf(session, sizeof(session), "bench-lib-%d", (int)getpid());
        if (!run("lttng create %s --snapshot --output=/tmp/%s", session, session) ||
            !run("lttng enable-channel -u -s %s --overwrite --subbuf-size=1M --num-subbuf=4 c",
                 session) ||
            !run("lttng enable-event -u -s %s -c c "
                 "desktrace_bench:instant,desktrace_bench:begin,desktrace_bench:end,"
                 "desktrace_bench:args,desktrace_bench:counter",
                 session) ||
            !run("lttng start %s", session))
                return "the lttng command cannot make a session";
        return is_enabled() ? NULL : "its daemon does not enable our tracepoints";
}

static void end(void) {
        FILE *file;
        int pid;

        run("lttng destroy %s", session);
        if (!pid_file[0])
                return;
        file = fopen(pid_file, "re");
        if (file && fscanf(file, "%d", &pid) == 1)
                kill(pid, SIGTERM);
        if (file)
                fclose(file);
        pid_file[0] = 0;
}

extern __attribute__((__visibility__("default"))) const Peer peer;
const Peer peer = {
        .name = "LTTng-UST",
        .begin = begin,
        .end = end,
        .bursts = {
                [SHAPE_OFF] = emit_off,
                [SHAPE_INSTANT] = emit_instant,
                [SHAPE_SLICE] = emit_slice,
                [SHAPE_ARGS] = emit_args,
                [SHAPE_COUNTER] = emit_counter,
        },
};
