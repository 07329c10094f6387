/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace snapshot: saves what a session holds in memory, while it goes on recording */

#include <glib/gi18n.h>
#include <time.h>

#include "client/flight-recorder.h"
#include "client/output-file.h"
#include "client/say.h"
#include "client/session-calls.h"
#include "client/session-choice.h"
#include "client/time-option.h"
#include "client/trace-report.h"
#include "client/verbs.h"

static char *arg_output, *arg_before, *arg_after;
static gboolean arg_force;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("write to FILE; - is stdout (default: desktrace-DATE-TIME.pftrace)"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("replace the output file if it exists"), NULL },
        { "before", 0, 0, G_OPTION_ARG_STRING, &arg_before,
          N_("go back at most TIME (default: as far as there is data)"), N_("TIME") },
        { "after", 0, 0, G_OPTION_ARG_STRING, &arg_after, N_("wait for TIME and include it"), N_("TIME") },
        { 0 },
};
/* clang-format on */

typedef struct Run {
        const Invocation *invocation;
        BusClient client;
        Waiting waiting;
        SessionCalls calls;
        OutputFile output;
        uint32_t before_ms, after_ms;
        char *session, *clone; /* paths */
        SessionInfo info;      /* of the clone */
        uint64_t taken_ns;
} Run;

static void run_deinit(Run *run) {
        waiting_deinit(&run->waiting);
        bus_client_deinit(&run->client);
        output_file_deinit(&run->output);
        session_info_deinit(&run->info);
        g_free(run->session);
        g_free(run->clone);
}

static ExitStatus parse_times(Run *run) {
        ExitStatus status = STATUS_OK;

        if (arg_before)
                status = time_option_parse(&run->before_ms, arg_before, 1, FLIGHT_BEFORE_MS_MAX);
        if (!status && arg_after)
                status = time_option_parse(&run->after_ms, arg_after, 0, FLIGHT_BEFORE_MS_MAX);
        return status;
}

static ExitStatus prepare(Run *run) {
        ExitStatus status = parse_times(run);
        int r;

        if (!status)
                status = bus_client_open(&run->client, run->invocation);
        if (!status)
                status = session_choose(&run->client, run->invocation->arguments[0], &run->session);
        if (!status)
                status = waiting_init(&run->waiting);
        if (status)
                return status;
        run->calls = (SessionCalls){ .waiting = &run->waiting, .client = &run->client };
        r = output_file_open(&run->output, arg_output, arg_force);
        return r ? output_file_say_error(&run->output, r) : STATUS_OK;
}

static ExitStatus wait_after(Run *run) {
        char after[TIME_OPTION_BYTES];

        if (run->after_ms == 0)
                return STATUS_OK;
        if (!run->invocation->is_quiet)
                fprintf(stderr,
                        _("Waiting for %s; press Ctrl-C to cancel.\n"),
                        time_option_format(after, run->after_ms));
        return waiting_sleep(&run->waiting, (uint64_t)run->after_ms * 1000);
}

/* What "before" means if the snapshot is only taken when "after" is over. */
static uint32_t reach_ms(const Run *run) {
        return run->before_ms ? run->before_ms + run->after_ms : 0;
}

static ExitStatus take(Run *run) {
        struct timespec now;
        ExitStatus status;
        uint64_t n_bytes;

        clock_gettime(CLOCK_BOOTTIME, &now);
        run->taken_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        status = session_call_clone(&run->calls, run->session, reach_ms(run), &run->clone);
        if (!status)
                status = session_call_read_into(&run->calls, run->clone, run->output.fd, &n_bytes);
        if (!status)
                status = session_info_get(&run->info, &run->client, run->clone);
        if (!status)
                status = session_call_free(&run->calls, run->clone);
        return status;
}

static ExitStatus report(const Run *run) {
        const TraceReport report = {
                .invocation = run->invocation,
                .output = &run->output,
                .info = &run->info,
                .taken_ns = run->taken_ns,
                .before_ns = (uint64_t)reach_ms(run) * 1000000,
        };

        return trace_report(&report);
}

static ExitStatus snapshot(Run *run) {
        ExitStatus status = prepare(run);

        if (!status)
                status = wait_after(run);
        if (!status)
                status = take(run);
        if (!status)
                status = output_file_keep(&run->output);
        return status ? status : report(run);
}

ExitStatus verb_snapshot(Invocation *invocation) {
        _cleanup_(run_deinit) Run run = { .invocation = invocation, .output = OUTPUT_FILE_INIT };
        ExitStatus status = invocation_parse(invocation, entries);

        session_info_init(&run.info);
        if (!status)
                status = invocation_expect(invocation, 0, 1);
        return status ? status : snapshot(&run);
}
