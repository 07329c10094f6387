/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client/trace-page.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <unistd.h>

#include "client/answer-sentences.h"
#include "client/say.h"
#include "report/report-page.h"
#include "shared/text.h"

static const char *translate(const char *text) {
        return gettext(text);
}

/* "de-DE" of "de_DE.UTF-8"; NULL, also of "C.UTF-8", where words are not translated. */
static char *page_language(void) {
        const char *name = g_get_language_names()[0];
        g_autofree char *language = g_strndup(name, strcspn(name, ".@"));

        if (streq(language, "C") || streq(language, "POSIX"))
                return NULL;
        return g_strdelimit(g_steal_pointer(&language), "_", '-');
}

static ExitStatus make_page(Bytes *ret, const TraceFiles *files, const Query *query) {
        g_autofree char *language = page_language();
        g_autofree char *title = g_path_get_basename(files->name);
        const ReportOptions options = { .title = title,
                                        .translate = translate,
                                        .tell = answer_sentences,
                                        .language = language };

        if (report_page_make(ret, query_store(query), &options) == 0)
                return STATUS_OK;
        say_error(_("the page needs more memory than there is"));
        return STATUS_LIMIT;
}

ExitStatus trace_page_make(Bytes *ret, Query **ret_query, const TraceFiles *files) {
        const QueryOptions options = { 0 };
        int r = query_new(ret_query, files->fds, files->n, &options);

        if (r == 0)
                r = query_load(*ret_query, REPORT_PARTS);
        return r ? trace_files_report(files, *ret_query, r) : make_page(ret, files, *ret_query);
}

char *trace_page_path(const char *recording) {
        g_autofree char *base = NULL;

        if (streq(recording, "-"))
                return g_strdup("report.html");
        base = g_str_has_suffix(recording, ".pftrace")
                       ? g_strndup(recording, strlen(recording) - strlen(".pftrace"))
                       : g_strdup(recording);
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

ExitStatus trace_page_write(OutputFile *output, const Bytes *page, bool is_quiet) {
        char size[TEXT_SIZE_BYTES];
        ExitStatus status = write_all(output, page);

        if (!status)
                status = output_file_keep(output);
        if (!status && !is_quiet)
                fprintf(stderr, _("%s in %s\n"), text_format_size(size, page->n), output->path);
        return status;
}

ExitStatus trace_page_of(OutputFile *output, const char *recording, bool is_quiet) {
        _cleanup_(trace_files_close) TraceFiles files = { 0 };
        _cleanup_(query_freep) Query *query = NULL;
        _cleanup_(bytes_deinit) Bytes page = { 0 };
        char *paths[] = { (char *)recording, NULL };
        ExitStatus status = trace_files_open(&files, paths, 1);

        if (!status)
                status = trace_page_make(&page, &query, &files);
        return status ? status : trace_page_write(output, &page, is_quiet);
}
