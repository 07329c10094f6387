/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace report: a recording, or two sides to compare, as one HTML page */

#include <glib/gi18n.h>

#include "client/answer-range.h"
#include "client/output-file.h"
#include "client/say.h"
#include "client/trace-files.h"
#include "client/trace-page.h"
#include "client/trace-pair.h"
#include "client/verbs.h"

static char *arg_output;
static gboolean arg_force, arg_svg;
static AnswerRange arg_range;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("write to FILE; - is stdout (default: the recording's name with .html or .svg)"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("replace the output file if it exists"), NULL },
        { "svg", 0, 0, G_OPTION_ARG_NONE, &arg_svg,
          N_("make a still picture (SVG) instead of a page"), NULL },
        ANSWER_RANGE_OPTIONS(arg_range),
        { 0 },
};
/* clang-format on */

static ExitStatus write_page(const Invocation *invocation, const Bytes *page, const char *path) {
        _cleanup_(output_file_deinit) OutputFile output = OUTPUT_FILE_INIT;
        int r = output_file_open(&output, path, arg_force);

        return r ? output_file_say_error(&output, r)
                 : trace_page_write(&output, page, invocation->is_quiet);
}

static ExitStatus report_files(const Invocation *invocation, const TraceFiles *files) {
        _cleanup_(query_freep) Query *query = NULL;
        _cleanup_(bytes_deinit) Bytes page = { 0 };
        g_autofree char *path = NULL;
        ExitStatus status =
                (arg_svg ? trace_picture_make : trace_page_make)(&page, &query, files, &arg_range);

        path = arg_output ? g_strdup(arg_output)
                          : trace_page_path(invocation->arguments[0], arg_svg ? ".svg" : ".html");
        if (!status)
                status = write_page(invocation, &page, path);
        return status ? status : trace_files_check(files, query);
}

/* Two sides, with "--" between them. */
static ExitStatus report_pair(const Invocation *invocation) {
        _cleanup_(bytes_deinit) Bytes page = { 0 };
        g_autofree char *path = NULL;
        ExitStatus status, made;

        if (!invocation->arguments[0] || !invocation->command[0]) {
                say_error(_("two sides are shown beside each other: desktrace report A… -- B…"));
                return STATUS_USAGE;
        }
        if (arg_svg || answer_range_is_given(&arg_range)) {
                say_error(_("--svg and times are for one recording, not for two sides"));
                return STATUS_USAGE;
        }
        path = arg_output ? g_strdup(arg_output)
                          : trace_pair_path(invocation->arguments[0], invocation->command[0]);
        made = trace_pair_make(&page, invocation->arguments, invocation->command);
        if (made && page.n == 0)
                return made;
        status = write_page(invocation, &page, path);
        return status ? status : made;
}

ExitStatus verb_report(Invocation *invocation) {
        _cleanup_(trace_files_close) TraceFiles files = { 0 };
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status && invocation->command)
                return report_pair(invocation);
        if (!status)
                status = invocation_expect(invocation, 1, QUERY_FILES_MAX);
        if (!status)
                status = trace_files_open(
                        &files, invocation->arguments, g_strv_length(invocation->arguments));
        return status ? status : report_files(invocation, &files);
}
