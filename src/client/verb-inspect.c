/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace inspect: what is in a trace file, and what is missing */

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/heap-print.h"
#include "client/inspect.h"
#include "client/say.h"
#include "client/stack-print.h"
#include "client/verbs.h"
#include "shared/fd.h"

static int arg_top = INSPECT_ROWS_DEFAULT;
static gboolean arg_config;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "top", 0, 0, G_OPTION_ARG_INT, &arg_top,
          N_("show at most N rows of each table, 0 for all (default: 15)"), N_("N") },
        { "config", 0, 0, G_OPTION_ARG_NONE, &arg_config, N_("show only the config of the recording"), NULL },
        { 0 },
};
/* clang-format on */

/* There must have been one whole packet, or else the file is something different. */
static ExitStatus check_is_trace(const TraceSummary *summary, const char *name) {
        if (summary->n_packets > summary->n_malformed)
                return STATUS_OK;
        if (summary->n_bytes == 0)
                say_error(_("%s is empty"), name);
        else
                say_error(_("%s is not a Perfetto trace"), name);
        return STATUS_FAILED;
}

static ExitStatus print_config(const TraceSummary *summary, const char *name) {
        _cleanup_(freep) char *text = inspect_config_text(summary);

        if (!text) {
                say_error(_("%s does not contain the config of the recording"), name);
                return STATUS_FAILED;
        }
        fputs(text, stdout);
        return STATUS_OK;
}

/* NULL for a pipe, which cannot be read a second time. */
static StackReport *read_stacks(const TraceSummary *summary, int fd, const char *name) {
        StackReport *report = NULL;
        int r = 0;

        if (trace_summary_has_stacks(summary))
                r = stack_report_read(&report, fd);
        if (r < 0)
                say_error(_("cannot read the call stacks of %s: %s"), name, g_strerror(-r));
        return report;
}

/* Likewise. */
static HeapReport *read_heaps(const TraceSummary *summary, int fd, const char *name) {
        HeapReport *report = NULL;
        int r = 0;

        if (trace_summary_has_heaps(summary))
                r = heap_report_read(&report, fd);
        if (r < 0)
                say_error(_("cannot read the heaps of %s: %s"), name, g_strerror(-r));
        return report;
}

static void print_summary(const TraceSummary *summary,
                          const StackReport *stacks,
                          const HeapReport *heaps,
                          const char *name,
                          const Invocation *invocation) {
        InspectOptions options = { .n_rows_max = (size_t)MAX(arg_top, 0),
                                   .has_legend = invocation->has_legend,
                                   .stacks = stacks,
                                   .heaps = heaps };
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };

        if (invocation->json == JSON_OFF) {
                inspect_print(summary, name, &options);
                return;
        }
        json_writer_init(&writer, invocation->json);
        json_begin_object(&writer, NULL);
        inspect_write_json(&writer, summary, name);
        stack_report_write_json(stacks, &writer);
        heap_report_write_json(heaps, &writer);
        json_end_object(&writer);
        json_writer_print(&writer);
}

static ExitStatus inspect_file(const Invocation *invocation, const char *path) {
        _cleanup_(trace_summary_freep) TraceSummary *summary = NULL;
        _cleanup_(stack_report_freep) StackReport *stacks = NULL;
        _cleanup_(heap_report_freep) HeapReport *heaps = NULL;
        _cleanup_(fd_closep) int fd = -1;
        g_autofree char *name =
                streq(path, "-") ? g_strdup("stdin") : say_clean(path, strlen(path));
        ExitStatus status;
        int r;

        fd = streq(path, "-") ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                              : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0) {
                say_error(_("cannot open %s: %m"), name);
                return STATUS_FAILED;
        }
        r = trace_summary_read(&summary, fd);
        if (r < 0) {
                say_error(_("cannot read %s: %s"), name, g_strerror(-r));
                return STATUS_FAILED;
        }
        status = check_is_trace(summary, name);
        if (status)
                return status;
        if (arg_config)
                return print_config(summary, name);
        stacks = read_stacks(summary, fd, name);
        heaps = read_heaps(summary, fd, name);
        print_summary(summary, stacks, heaps, name, invocation);
        return summary->verdict == TRACE_VERDICT_LOST ? STATUS_DATA_LOST : STATUS_OK;
}

ExitStatus verb_inspect(Invocation *invocation) {
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 1, 1);
        if (!status)
                status = invocation_check_file(invocation->arguments[0]);
        return status ? status : inspect_file(invocation, invocation->arguments[0]);
}
