/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <glib/gi18n.h>
#include <unistd.h>

#include "client/output-file.h"
#include "client/say.h"
#include "client/trace-files.h"
#include "client/trace-page.h"
#include "client/verbs.h"
#include "shared/text.h"

static char *arg_output;
static gboolean arg_force;

/* clang-format off */
static const GOptionEntry entries[] = {
        { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arg_output,
          N_("write to FILE; - is stdout (default: the recording's name with .html)"), N_("FILE") },
        { "force", 'f', 0, G_OPTION_ARG_NONE, &arg_force, N_("replace the output file if it exists"), NULL },
        { 0 },
};
/* clang-format on */

/* Beside the recording. */
static char *default_path(const char *path) {
        g_autofree char *base = NULL;

        if (streq(path, "-"))
                return g_strdup("report.html");
        base = g_str_has_suffix(path, ".pftrace")
                       ? g_strndup(path, strlen(path) - strlen(".pftrace"))
                       : g_strdup(path);
        return g_strconcat(base, ".html", NULL);
}

static ExitStatus write_all(const OutputFile *output, const Bytes *page) {
        for (size_t at = 0; at < page->n;) {
                ssize_t n = write(output->fd, page->data + at, page->n - at);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0) {
                        say_error(_("cannot write %s: %s"), output->path, g_strerror(errno));
                        return STATUS_FAILED;
                }
                at += (size_t)n;
        }
        return STATUS_OK;
}

static ExitStatus write_page(const Invocation *invocation, const Bytes *page, const char *path) {
        _cleanup_(output_file_deinit) OutputFile output = OUTPUT_FILE_INIT;
        char size[TEXT_SIZE_BYTES];
        int r = output_file_open(&output, path, arg_force);
        ExitStatus status = r ? output_file_say_error(&output, r) : write_all(&output, page);

        if (!status)
                status = output_file_keep(&output);
        if (!status && !invocation->is_quiet)
                fprintf(stderr, _("%s in %s\n"), text_format_size(size, page->n), output.path);
        return status;
}

static ExitStatus report_files(const Invocation *invocation, const TraceFiles *files) {
        _cleanup_(query_freep) Query *query = NULL;
        _cleanup_(bytes_deinit) Bytes page = { 0 };
        g_autofree char *path =
                arg_output ? g_strdup(arg_output) : default_path(invocation->arguments[0]);
        ExitStatus status = trace_page_make(&page, &query, files);

        if (!status)
                status = write_page(invocation, &page, path);
        return status ? status : trace_files_check(files, query);
}

ExitStatus verb_report(Invocation *invocation) {
        _cleanup_(trace_files_close) TraceFiles files = { 0 };
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = invocation_expect(invocation, 1, QUERY_FILES_MAX);
        if (!status)
                status = trace_files_open(
                        &files, invocation->arguments, g_strv_length(invocation->arguments));
        return status ? status : report_files(invocation, &files);
}
