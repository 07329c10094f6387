/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* desktrace diff: compares the recordings of two sides, and judges changes by limits that scripts set */

#include <glib/gi18n.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answers/comparison.h"
#include "answers/statistics.h"
#include "client/answer-output.h"
#include "client/answer-range.h"
#include "client/say.h"
#include "client/trace-files.h"
#include "client/verbs.h"
#include "shared/text.h"

#define TOP_DEFAULT 20

static AnswerRange arg_ranges[2]; /* by side */
static char *arg_metric, *arg_slice, *arg_memory;
static char **arg_fail_if;
static int arg_top = TOP_DEFAULT;

/* clang-format off */
static const GOptionEntry entries[] = {
        ANSWER_RANGE_OPTIONS(arg_ranges[0]),
        { "metric", 0, 0, G_OPTION_ARG_STRING, &arg_metric,
          N_("compare p50 (default), p99 or total of slices, cpu of programs, or heap"), N_("WHAT") },
        { "slice", 0, 0, G_OPTION_ARG_STRING, &arg_slice, N_("compare only this name"), N_("NAME") },
        { "fail-if", 0, 0, G_OPTION_ARG_STRING_ARRAY, &arg_fail_if,
          N_("exit with status 10 if a name changed by more than this: 'frame +10%'"), N_("CHANGE") },
        { "top", 0, 0, G_OPTION_ARG_INT, &arg_top, N_("show at most N rows, 0 for all (default: 20)"), N_("N") },
        { "memory", 0, 0, G_OPTION_ARG_STRING, &arg_memory,
          N_("use at most SIZE of memory for the trace"), N_("SIZE") },
        { 0 },
};

/* Behind "--". */
static const GOptionEntry entries_b[] = {
        ANSWER_RANGE_OPTIONS(arg_ranges[1]),
        { 0 },
};

static const char *const metrics[] = {
        [COMPARISON_P50] = "p50", [COMPARISON_P99] = "p99", [COMPARISON_TOTAL] = "total", [COMPARISON_CPU] = "cpu",
        [COMPARISON_HEAP] = "heap",
};
/* clang-format on */

static ExitStatus find_metric(ComparisonMetric *ret) {
        *ret = COMPARISON_P50;
        for (size_t i = 0; arg_metric && i < ARRAY_SIZE(metrics); i++)
                if (streq(arg_metric, metrics[i])) {
                        *ret = (ComparisonMetric)i;
                        return STATUS_OK;
                }
        return arg_metric
                       ? usage_unknown(
                                 _("cannot compare '%s'"), arg_metric, metrics, ARRAY_SIZE(metrics))
                       : STATUS_OK;
}

/* "NAME +10%": the name, and 0.1. Returns false if it is something else. */
static bool parse_change(const char *text, char **ret_name, double *ret_change) {
        const char *space = strrchr(text, ' ');
        char *end = NULL;

        if (!space || space == text || (space[1] != '+' && space[1] != '-'))
                return false;
        *ret_change = g_ascii_strtod(space + 1, &end) / 100;
        if (end == space + 1 || !streq(end, "%") || !isfinite(*ret_change))
                return false;
        *ret_name = g_strndup(text, (gsize)(space - text));
        return true;
}

static ExitStatus check_changes(void) {
        for (size_t i = 0; arg_fail_if && arg_fail_if[i]; i++) {
                g_autofree char *name = NULL;
                double change;

                if (!parse_change(arg_fail_if[i], &name, &change)) {
                        g_autofree char *clean = say_clean(arg_fail_if[i], strlen(arg_fail_if[i]));

                        say_error(_("'%s' is no change: try 'frame +10%%'"), clean);
                        return STATUS_USAGE;
                }
        }
        return STATUS_OK;
}

static ExitStatus find_part(ComparisonPart *ret, unsigned side, const TraceStore *store) {
        AnswerQuestion question = { .store = store };
        ExitStatus status = answer_range_apply(&arg_ranges[side], &question);

        ret->start = question.start;
        ret->end = question.end;
        if (status || question.end > question.start || !answer_range_is_given(&arg_ranges[side]))
                return status;
        say_error(_("the recording has nothing in this time"));
        return STATUS_NOT_FOUND;
}

/* One file at a time, because there is memory for one. */
static ExitStatus
add_file(Comparison *comparison, unsigned side, char *const *path, const QueryOptions *options) {
        _cleanup_(trace_files_close) TraceFiles files = { 0 };
        _cleanup_(query_freep) Query *query = NULL;
        g_autofree char *recording = g_canonicalize_filename(*path, NULL);
        ComparisonPart part = { .recording = recording };
        ExitStatus status = trace_files_load(
                &files, &query, path, 1, comparison_def(comparison->metric)->parts, options);
        int r;

        if (!status)
                status = find_part(&part, side, query_store(query));
        if (status)
                return status;
        r = comparison_add(comparison, side, query_store(query), &part);
        if (r == 0)
                return STATUS_OK;
        say_error("%s", g_strerror(-r));
        return STATUS_FAILED;
}

static ExitStatus
add_files(Comparison *comparison, char *const *const sides[2], const QueryOptions *options) {
        ExitStatus status = STATUS_OK;

        for (unsigned side = 0; side < 2; side++)
                for (size_t i = 0; !status && sides[side][i]; i++)
                        status = add_file(comparison, side, &sides[side][i], options);
        return status;
}

/* A name of --fail-if that is missing on a side cannot have passed. */
static ExitStatus judge_changes(const Comparison *comparison) {
        ExitStatus status = STATUS_OK;

        for (size_t i = 0; arg_fail_if && arg_fail_if[i]; i++) {
                g_autofree char *name = NULL, *clean = NULL;
                double limit, change;

                if (!parse_change(arg_fail_if[i], &name, &limit))
                        continue;
                clean = say_clean(name, strlen(name));
                if (!comparison_change(comparison, name, &change)) {
                        say_error(_("'%s' is not on both sides"), clean);
                        return STATUS_NOT_FOUND;
                }
                if (limit >= 0 ? change > limit : change < limit) {
                        say_error(_("'%s' changed by %+.1f %%"), clean, change * 100);
                        status = STATUS_PROBLEM;
                }
        }
        return status;
}

static ExitStatus print_answer(const Invocation *invocation, Comparison *comparison) {
        _cleanup_(answer_freep) Answer *answer = NULL;
        int r = comparison_answer(comparison, (size_t)MAX(arg_top, 0), &answer);
        ExitStatus status;

        if (r) {
                say_error("%s", g_strerror(-r));
                return STATUS_FAILED;
        }
        if (invocation->json != JSON_OFF)
                answer_print_json(answer, NULL, invocation->json);
        else
                answer_print(answer, invocation->has_legend);
        fflush(stdout);
        status = judge_changes(comparison);
        if (!status && !arg_fail_if && answer->facts[DIFF_FACT_CHANGED].number > 0)
                status = STATUS_PROBLEM;
        return status;
}

static ExitStatus refuse_sides(void) {
        say_error(_("'diff' compares two sides: desktrace diff A… -- B…"));
        return STATUS_USAGE;
}

static ExitStatus check_sides(char *const *const sides[2]) {
        for (unsigned side = 0; side < 2; side++)
                if (g_strv_length((char **)sides[side]) > STATISTICS_SAMPLES_MAX) {
                        say_error(_("a side has at most %d recordings"), STATISTICS_SAMPLES_MAX);
                        return STATUS_LIMIT;
                }
        if (arg_top < 0) {
                say_error(_("--top must not be negative"));
                return STATUS_USAGE;
        }
        return STATUS_OK;
}

/* The files behind "--", and the range that is meant. Without files, it is another range of the same files; without
 * a range, it is the same range of the others. */
static ExitStatus parse_side_b(const Invocation *invocation, char ***ret) {
        g_autoptr(GOptionContext) context = g_option_context_new(NULL);
        g_autoptr(GStrvBuilder) words = g_strv_builder_new();
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) left = NULL;

        if (!invocation->arguments[0] || !invocation->command)
                return refuse_sides();
        g_strv_builder_add(words, invocation->verb->name);
        g_strv_builder_addv(words, (const char **)invocation->command);
        left = g_strv_builder_end(words);
        g_option_context_set_help_enabled(context, FALSE);
        g_option_context_add_main_entries(context, entries_b, NULL);
        if (!g_option_context_parse_strv(context, &left, &error)) {
                say_error(_("after '--' there are only files and their time range: %s"),
                          error->message);
                return STATUS_USAGE;
        }
        if (!left[1] && !answer_range_is_given(&arg_ranges[1]))
                return refuse_sides();
        *ret = g_strdupv(left[1] ? left + 1 : invocation->arguments);
        if (!answer_range_is_given(&arg_ranges[1]))
                arg_ranges[1] = arg_ranges[0];
        return STATUS_OK;
}

static ExitStatus
compare(const Invocation *invocation, ComparisonMetric metric, const QueryOptions *options) {
        g_auto(GStrv) files_b = NULL;
        Comparison comparison;
        ExitStatus status = parse_side_b(invocation, &files_b);
        char *const *const sides[] = { invocation->arguments, files_b };

        if (!status)
                status = check_sides(sides);
        if (status)
                return status;
        if (comparison_init(&comparison, metric, arg_slice))
                return STATUS_FAILED;
        status = add_files(&comparison, sides, options);
        if (!status)
                status = print_answer(invocation, &comparison);
        comparison_deinit(&comparison);
        return status;
}

ExitStatus verb_diff(Invocation *invocation) {
        QueryOptions options = { 0 };
        ComparisonMetric metric = COMPARISON_P50;
        ExitStatus status = invocation_parse(invocation, entries);

        if (!status)
                status = find_metric(&metric);
        if (!status)
                status = check_changes();
        if (!status && arg_memory && text_parse_size(&options.n_bytes_max, arg_memory)) {
                say_error(_("'%s' is not a size: try 64M or 1GiB"), arg_memory);
                status = STATUS_USAGE;
        }
        return status ? status : compare(invocation, metric, &options);
}
