/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace page: the page of the files of a command line, in the user's language */

#include "client/trace-page.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <unistd.h>

#include "client/answer-sentences.h"
#include "client/say.h"
#include "report/report-svg.h"
#include "shared/text.h"

#define NS_PER_S INT64_C(1000000000)

static const char *translate(const char *text) {
        return gettext(text);
}

/* "de-DE" for "de_DE.UTF-8". Returns NULL for "C.UTF-8", too, where words are not translated. */
static char *page_language(void) {
        const char *name = g_get_language_names()[0];
        g_autofree char *language = g_strndup(name, strcspn(name, ".@"));

        if (streq(language, "C") || streq(language, "POSIX"))
                return NULL;
        return g_strdelimit(g_steal_pointer(&language), "_", '-');
}

static ExitStatus say_no_memory(int r) {
        if (r == 0)
                return STATUS_OK;
        say_error(_("the page needs more memory than is available"));
        return STATUS_LIMIT;
}

static ExitStatus load(Query **ret_query, const TraceFiles *files) {
        const QueryOptions options = { 0 };
        int r = query_new(ret_query, files->fds, files->n, &options);

        if (r == 0)
                r = query_load(*ret_query, REPORT_PARTS);
        return r ? trace_files_report(files, *ret_query, r) : STATUS_OK;
}

static ExitStatus make_page(Bytes *ret,
                            const TraceFiles *files,
                            const TraceStore *store,
                            int64_t from_ns,
                            int64_t to_ns) {
        g_autofree char *language = page_language();
        g_autofree char *title = g_path_get_basename(files->name);
        const ReportOptions options = { .title = title,
                                        .translate = translate,
                                        .tell = answer_sentences,
                                        .language = language,
                                        .from_ns = from_ns,
                                        .to_ns = to_ns };

        return say_no_memory(report_page_make(ret, store, &options));
}

/* If somebody asks for a time at which there is nothing, that is a mistake and no picture. */
static ExitStatus apply_range(const AnswerRange *range, AnswerQuestion *question) {
        ExitStatus status = answer_range_apply(range, question);

        if (status || !(range->from || range->to) || question->start < question->end ||
            question->zero == question->last)
                return status;
        say_error(_("the recording has nothing in this time"));
        return STATUS_NOT_FOUND;
}

ExitStatus
trace_page_make(Bytes *ret, Query **ret_query, const TraceFiles *files, const AnswerRange *range) {
        AnswerQuestion question = { 0 };
        ExitStatus status = load(ret_query, files);

        if (status)
                return status;
        question.store = query_store(*ret_query);
        if (range && answer_range_is_given(range))
                status = apply_range(range, &question);
        return status ? status
                      : make_page(ret, files, question.store, question.start, question.end);
}

ExitStatus trace_page_make_pair(Bytes *ret, const ReportPair *pair, const char *title) {
        g_autofree char *language = page_language();
        const ReportOptions options = { .title = title,
                                        .translate = translate,
                                        .tell = answer_sentences,
                                        .language = language };

        return say_no_memory(report_pair_make(ret, pair, &options));
}

static void format_day(char text[static REPORT_SVG_DAY_BYTES], int64_t at_ns) {
        g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(at_ns / NS_PER_S);
        g_autofree char *day = time ? g_date_time_format(time, "%F %T %Z") : NULL;

        g_strlcpy(text, day ? day : "?", REPORT_SVG_DAY_BYTES);
}

ExitStatus trace_picture_make(Bytes *ret,
                              Query **ret_query,
                              const TraceFiles *files,
                              const AnswerRange *range) {
        g_autofree char *title = g_path_get_basename(files->name);
        ReportSvgOptions options = { .title = title,
                                     .translate = translate,
                                     .format_day = format_day };
        AnswerQuestion question = { 0 };
        ExitStatus status = load(ret_query, files);

        if (status)
                return status;
        question.store = query_store(*ret_query);
        status = apply_range(range, &question);
        options.from_ns = question.start;
        options.to_ns = question.end;
        return status ? status : say_no_memory(report_svg_make(ret, question.store, &options));
}

char *trace_page_path(const char *recording, const char *suffix) {
        g_autofree char *base = NULL;

        if (streq(recording, "-"))
                return g_strconcat("report", suffix, NULL);
        base = g_str_has_suffix(recording, ".pftrace")
                       ? g_strndup(recording, strlen(recording) - strlen(".pftrace"))
                       : g_strdup(recording);
        return g_strconcat(base, suffix, NULL);
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
                status = trace_page_make(&page, &query, &files, NULL);
        return status ? status : trace_page_write(output, &page, is_quiet);
}
