/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer range: which time of a trace somebody asks about
 *
 * A time is in seconds since the beginning of the trace ("1.5", "250ms"), or a time of day ("14:03:05.2") in the
 * local time zone. Times outside of the trace mean its beginning or end.
 */

#include <glib.h>

#include "answers/answer.h"
#include "client/exit-status.h"

typedef struct AnswerRange {
        char *from, *to; /* or NULL */
        char *around;    /* the name of a slice, or NULL */
        char *margin;    /* the time to add before and after it, or NULL */
} AnswerRange;

/* The options of a verb that takes a range; GOption owns the strings. */
#define ANSWER_RANGE_OPTIONS(range)                                                               \
        { "from", 0, 0, G_OPTION_ARG_STRING, &(range).from, answer_range_help_from, "TIME" },     \
                { "to", 0, 0, G_OPTION_ARG_STRING, &(range).to, answer_range_help_to, "TIME" },   \
                { "around", 0, 0, G_OPTION_ARG_STRING, &(range).around, answer_range_help_around, \
                  "SLICE" },                                                                      \
        {                                                                                         \
                "margin", 0, 0, G_OPTION_ARG_STRING, &(range).margin, answer_range_help_margin,   \
                        "TIME"                                                                    \
        }

extern const char answer_range_help_from[], answer_range_help_to[], answer_range_help_around[],
        answer_range_help_margin[];

/* Sets `zero`, `last`, `start` and `end` of a question whose store is set. Reports errors. */
ExitStatus answer_range_apply(const AnswerRange *range, AnswerQuestion *question);

/* "program", "unit" or "thread"; NULL: program. Reports errors. */
ExitStatus answer_group_parse(AnswerGroup *ret, const char *name);

static inline bool answer_range_is_given(const AnswerRange *range) {
        return range->from || range->to || range->around || range->margin;
}
