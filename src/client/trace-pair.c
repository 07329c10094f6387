/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace pair: the page of two sides of a command line, A… and B… */

#include "client/trace-pair.h"

#include <glib/gi18n.h>

#include "answers/comparison.h"
#include "answers/statistics.h"
#include "client/answer-text.h"
#include "client/say.h"
#include "client/trace-files.h"
#include "client/trace-page.h"
#include "report/report-page.h"

#define ROWS_MAX 20

static const ComparisonMetric metrics[] = { COMPARISON_P50, COMPARISON_CPU, COMPARISON_HEAP };

typedef struct Pair {
        TraceFiles files[REPORT_SIDES]; /* the first of each side */
        Query *queries[REPORT_SIDES];
        Comparison comparisons[ARRAY_SIZE(metrics)];
        Answer *answers[ARRAY_SIZE(metrics)];
} Pair;

static ExitStatus say_error_number(int r) {
        if (r == 0)
                return STATUS_OK;
        say_error("%s", g_strerror(-r));
        return STATUS_FAILED;
}

static ExitStatus compare(Pair *pair, unsigned side, const TraceStore *store) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(metrics); i++)
                r = comparison_add(&pair->comparisons[i], side, store, NULL);
        return say_error_number(r);
}

static ExitStatus load(TraceFiles *files, Query **ret_query, const char *path, unsigned parts) {
        const QueryOptions options = { 0 };
        char *paths[] = { (char *)path, NULL };
        ExitStatus status = trace_files_open(files, paths, 1);
        int r;

        if (status)
                return status;
        r = query_new(ret_query, files->fds, files->n, &options);
        if (r == 0)
                r = query_load(*ret_query, parts);
        return r ? trace_files_report(files, *ret_query, r) : STATUS_OK;
}

/* Handles a recording that is not shown. There is memory for one of these at a time. */
static ExitStatus add_more(Pair *pair, unsigned side, const char *path) {
        _cleanup_(trace_files_close) TraceFiles files = { 0 };
        _cleanup_(query_freep) Query *query = NULL;
        ExitStatus status = load(&files, &query, path, answer_diff_heap.parts);

        return status ? status : compare(pair, side, query_store(query));
}

static ExitStatus add_side(Pair *pair, unsigned side, char *const *paths) {
        ExitStatus status = load(&pair->files[side], &pair->queries[side], paths[0], REPORT_PARTS);

        if (!status)
                status = compare(pair, side, query_store(pair->queries[side]));
        for (size_t i = 1; !status && paths[i]; i++)
                status = add_more(pair, side, paths[i]);
        return status;
}

static ExitStatus make(Bytes *ret, Pair *pair) {
        g_autofree char *a = g_path_get_basename(pair->files[0].name);
        g_autofree char *b = g_path_get_basename(pair->files[1].name);
        g_autofree char *title = g_strdup_printf("%s – %s", a, b);
        const ReportPair report = {
                .stores = { query_store(pair->queries[0]), query_store(pair->queries[1]) },
                .titles = { a, b },
                .differences = (const Answer *const *)pair->answers,
                .n_differences = ARRAY_SIZE(pair->answers),
                .format = answer_value_text,
        };

        for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
                int r = comparison_answer(&pair->comparisons[i], ROWS_MAX, &pair->answers[i]);

                if (r)
                        return say_error_number(r);
        }
        return trace_page_make_pair(ret, &report, title);
}

static ExitStatus check(const Pair *pair) {
        ExitStatus status = STATUS_OK;

        for (unsigned side = 0; side < REPORT_SIDES; side++) {
                ExitStatus one = trace_files_check(&pair->files[side], pair->queries[side]);

                status = status ? status : one;
        }
        return status;
}

static void pair_deinit(Pair *pair) {
        for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
                answer_free(pair->answers[i]);
                comparison_deinit(&pair->comparisons[i]);
        }
        for (unsigned side = 0; side < REPORT_SIDES; side++) {
                query_free(pair->queries[side]);
                trace_files_close(&pair->files[side]);
        }
}

ExitStatus trace_pair_make(Bytes *ret, char *const *a, char *const *b) {
        char *const *const sides[REPORT_SIDES] = { a, b };
        Pair pair = { 0 };
        ExitStatus status = STATUS_OK;
        int r = 0;

        if (MAX(g_strv_length((char **)a), g_strv_length((char **)b)) > STATISTICS_SAMPLES_MAX) {
                say_error(_("a side has at most %d recordings"), STATISTICS_SAMPLES_MAX);
                return STATUS_LIMIT;
        }
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(metrics); i++)
                r = comparison_init(&pair.comparisons[i], metrics[i], NULL);
        status = say_error_number(r);
        for (unsigned side = 0; !status && side < REPORT_SIDES; side++)
                status = add_side(&pair, side, sides[side]);
        if (!status)
                status = make(ret, &pair);
        if (!status)
                status = check(&pair);
        pair_deinit(&pair);
        return status;
}

char *trace_pair_path(const char *a, const char *b) {
        g_autofree char *first = trace_page_path(a, "");
        g_autofree char *second = trace_page_path(b, ".html");
        g_autofree char *name = g_path_get_basename(second);

        return g_strconcat(first, "-", name, NULL);
}
