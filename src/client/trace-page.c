/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client/trace-page.h"

#include <glib/gi18n.h>

#include "client/answer-sentences.h"
#include "client/say.h"
#include "report/report-page.h"

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
