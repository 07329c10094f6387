/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer range: which time of a trace somebody asks about */

#include "client/answer-range.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "answers/answer-slices.h"
#include "answers/answer-time.h"
#include "client/invocation.h"
#include "client/say.h"
#include "shared/text.h"

#define NS_PER_S          INT64_C(1000000000)
#define CLOCK_REALTIME_ID 1
#define HALF_A_DAY_S      (12 * 3600)

const char answer_range_help_from[] =
        N_("begin at this time: 1.5s after the beginning, or 14:03:05");
const char answer_range_help_to[] = N_("end at this time");
const char answer_range_help_around[] =
        N_("use the time of this slice: a name (its longest slice), or id:NUMBER");
const char answer_range_help_margin[] = N_("widen the interval by TIME on both sides");

/* How far the wall clock is ahead of the trace's clock. */
static bool realtime_ahead(const TraceStore *store, int64_t *ret) {
        const TraceTable *table = &store->tables[TRACE_TABLE_CLOCK];

        for (uint32_t row = 0; row < table->n; row++)
                if (trace_table_get(table, CLOCK_ID, row) == CLOCK_REALTIME_ID) {
                        *ret = time_since(trace_table_i64(table, CLOCK_VALUE, row),
                                          trace_table_i64(table, CLOCK_TS, row));
                        return true;
                }
        return false;
}

/* "HH:MM", "HH:MM:SS", with a fraction. */
static bool parse_time_of_day(const char *text, int *ret_hour, int *ret_minute, double *ret_s) {
        g_auto(GStrv) parts = g_strsplit(text, ":", 4);
        guint n = g_strv_length(parts);
        uint64_t hour, minute;
        char *end = NULL;

        if (n < 2 || n > 3 || text_parse_uint(&hour, parts[0], 23) ||
            text_parse_uint(&minute, parts[1], 59))
                return false;
        *ret_hour = (int)hour;
        *ret_minute = (int)minute;
        *ret_s = 0;
        if (n == 2)
                return true;
        if (!g_ascii_isdigit(parts[2][0]))
                return false;
        *ret_s = g_ascii_strtod(parts[2], &end);
        return !*end && *ret_s >= 0 && *ret_s < 61;
}

static ExitStatus say_no_wall_clock(void) {
        say_error(_("the recording does not say what time of day it was"));
        return STATUS_FAILED;
}

/* The day is the one on which the trace begins, or the next if that is nearer. */
static ExitStatus
time_of_day(const AnswerQuestion *question, int hour, int minute, double s, int64_t *ret) {
        g_autoptr(GDateTime) begin = NULL, day = NULL;
        int64_t ahead, wall_s, at_s, at_ns;

        if (!realtime_ahead(question->store, &ahead))
                return say_no_wall_clock();
        wall_s = time_add(question->zero, ahead) / NS_PER_S;
        begin = g_date_time_new_from_unix_local(wall_s);
        if (begin)
                day = g_date_time_new_local(g_date_time_get_year(begin),
                                            g_date_time_get_month(begin),
                                            g_date_time_get_day_of_month(begin),
                                            hour,
                                            minute,
                                            0);
        if (!day)
                return say_no_wall_clock();
        at_s = g_date_time_to_unix(day);
        if (at_s < wall_s - HALF_A_DAY_S)
                at_s += 2 * HALF_A_DAY_S;
        if (__builtin_mul_overflow(at_s, NS_PER_S, &at_ns))
                return say_no_wall_clock();
        *ret = time_since(time_add(at_ns, (int64_t)(s * (double)NS_PER_S)), ahead);
        return STATUS_OK;
}

/* A plain number means seconds. */
static bool parse_since_start(const char *text, int64_t *ret_ns) {
        char *end = NULL;
        double s = g_ascii_strtod(text, &end);
        uint64_t ns;

        if (g_ascii_isdigit(*text) && !*end && isfinite(s)) {
                *ret_ns = time_of_real(s * (double)NS_PER_S);
                return true;
        }
        if (text_parse_duration(&ns, text))
                return false;
        *ret_ns = (int64_t)MIN(ns, (uint64_t)INT64_MAX);
        return true;
}

static ExitStatus parse_time(const AnswerQuestion *question, const char *text, int64_t *ret) {
        int hour, minute;
        int64_t ns;
        double s;

        if (parse_time_of_day(text, &hour, &minute, &s))
                return time_of_day(question, hour, minute, s, ret);
        if (parse_since_start(text, &ns)) {
                *ret = time_add(question->zero, ns);
                return STATUS_OK;
        }
        say_error(_("'%s' is no time: try 1.5s, counted from the beginning, or 14:03:05"), text);
        return STATUS_USAGE;
}

static ExitStatus apply_around(const AnswerRange *range, AnswerQuestion *question) {
        AnswerQuestion all = *question;
        uint32_t row;

        all.slice = range->around;
        row = answer_slice_find(&all);
        if (row == TRACE_NONE) {
                say_error(_("the recording has no slice '%s'"), range->around);
                return STATUS_NOT_FOUND;
        }
        question->start = answer_slice_ts(question->store, row);
        question->end = answer_slice_end(&all, row);
        return STATUS_OK;
}

static ExitStatus apply_margin(const AnswerRange *range, AnswerQuestion *question) {
        int64_t ns;

        if (!parse_since_start(range->margin, &ns)) {
                say_error(_("'%s' is no time: try 1.5s"), range->margin);
                return STATUS_USAGE;
        }
        question->start = time_since(question->start, ns);
        question->end = time_add(question->end, ns);
        return STATUS_OK;
}

static ExitStatus apply_options(const AnswerRange *range, AnswerQuestion *question) {
        ExitStatus status = STATUS_OK;

        if (range->around && (range->from || range->to)) {
                say_error(_("--around and --from or --to are mutually exclusive"));
                return STATUS_USAGE;
        }
        if (range->around)
                status = apply_around(range, question);
        if (!status && range->from)
                status = parse_time(question, range->from, &question->start);
        if (!status && range->to)
                status = parse_time(question, range->to, &question->end);
        if (!status && range->margin)
                status = apply_margin(range, question);
        if (!status && range->from && range->to && question->start > question->end) {
                say_error(_("the time range ends before it begins"));
                status = STATUS_USAGE;
        }
        return status;
}

ExitStatus answer_range_apply(const AnswerRange *range, AnswerQuestion *question) {
        ExitStatus status;

        if (!answer_time_bounds(question->store, &question->zero, &question->last))
                question->zero = question->last = 0;
        question->start = question->zero;
        question->end = question->last;
        status = apply_options(range, question);
        question->start = CLAMP(question->start, question->zero, question->last);
        question->end = CLAMP(question->end, question->zero, question->last);
        return status;
}

ExitStatus answer_group_parse(AnswerGroup *ret, const char *name) {
        static const char *const names[] = {
                [ANSWER_BY_PROGRAM] = "program",
                [ANSWER_BY_UNIT] = "unit",
                [ANSWER_BY_THREAD] = "thread",
        };

        *ret = ANSWER_BY_PROGRAM;
        for (unsigned i = 0; name && i < ARRAY_SIZE(names); i++)
                if (streq(name, names[i])) {
                        *ret = (AnswerGroup)i;
                        return STATUS_OK;
                }
        return name ? usage_unknown(_("cannot tell '%s' apart"), name, names, ARRAY_SIZE(names))
                    : STATUS_OK;
}
