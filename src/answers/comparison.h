/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Comparison: recordings of two sides, by name
 *
 * Each recording gives one value for each name; the comparison is between the medians of these values. A difference is
 * reported only if there are enough recordings to show it, corrected for the number of names, and if it is not small.
 */

#include "answers/answer.h"
#include "answers/comparison-conditions.h"
#include "trace/trace-map.h"
#include "trace/trace-pool.h"

#define COMPARISON_LEVEL   0.05
#define COMPARISON_CHANGE  0.02 /* smaller changes are not reported */
#define COMPARISON_P99_MIN 367  /* slices in one recording */

typedef enum ComparisonMetric {
        COMPARISON_P50,   /* of slices, by name */
        COMPARISON_P99,   /* likewise */
        COMPARISON_TOTAL, /* ns of slices for each second */
        COMPARISON_CPU,   /* ns of CPU time for each second, by program */
        COMPARISON_HEAP,  /* bytes that heaps have in use at the end, by call stack */
} ComparisonMetric;

/* What to compare. */
typedef struct ComparisonPart {
        const char *recording; /* identifies it on the other side */
        int64_t start, end;
} ComparisonPart;

typedef struct Comparison {
        ComparisonMetric metric;
        const char *only; /* a name, or NULL: all */
        TracePool names;
        TraceMap places;
        struct ComparisonItem *items;
        size_t n, n_allocated;
        ComparisonConditions conditions;
        struct ComparisonTime *times[2]; /* recordings whose name is known */
        size_t n_times[2], n_allocated_times[2];
        size_t n_tested;
} Comparison;

/* Returns 0, or -ENOMEM. */
int comparison_init(Comparison *comparison, ComparisonMetric metric, const char *only);
void comparison_deinit(Comparison *comparison);

/* Adds a recording to a side (0 or 1), or only a part of it if `part` is not NULL: the slices that begin in the
 * part, and the CPU time used in it. Returns 0, or -ENOMEM. */
int comparison_add(Comparison *comparison,
                   unsigned side,
                   const TraceStore *store,
                   const ComparisonPart *part);

extern const AnswerDef answer_diff;      /* of times */
extern const AnswerDef answer_diff_heap; /* bytes, with one column more */

/* The definition of the answer for this metric. */
const AnswerDef *comparison_def(ComparisonMetric metric);

enum {
        DIFF_FACT_A,
        DIFF_FACT_B,
        DIFF_FACT_KERNEL_A, /* two facts for each ConditionText, in its order */
        DIFF_FACT_KERNEL_B,
        DIFF_FACT_SYSTEM_A,
        DIFF_FACT_SYSTEM_B,
        DIFF_FACT_PROCESSOR_A,
        DIFF_FACT_PROCESSOR_B,
        DIFF_FACT_CPUS_A,
        DIFF_FACT_CPUS_B,
        DIFF_FACT_SOURCES_A,
        DIFF_FACT_SOURCES_B,
        DIFF_FACT_SAME_SYSTEM,
        DIFF_FACT_SAME_CONFIG,
        DIFF_FACT_SECONDS_A,
        DIFF_FACT_SECONDS_B,
        DIFF_FACT_BUSY_A,
        DIFF_FACT_BUSY_B,
        DIFF_FACT_HZ_A,
        DIFF_FACT_HZ_B,
        DIFF_FACT_LOSSY,
        DIFF_FACT_SHARED,      /* recordings that are on both sides */
        DIFF_FACT_OVERLAPPING, /* those of them whose times overlap */
        DIFF_FACT_TESTED,
        DIFF_FACT_CHANGED,
        DIFF_FACT_TOO_FEW,
};

enum {
        DIFF_COLUMN_NAME,
        DIFF_COLUMN_A,
        DIFF_COLUMN_B,
        DIFF_COLUMN_CHANGE,
        DIFF_COLUMN_LOW,
        DIFF_COLUMN_HIGH,
        DIFF_COLUMN_P,
        DIFF_COLUMN_VERDICT,
        DIFF_COLUMN_N_A,
        DIFF_COLUMN_N_B,
        DIFF_COLUMN_GROWTH, /* of heaps only */
};

/* Rows with the largest change first; for heaps, with the largest growth first. Returns 0, or -ENOMEM. */
int comparison_answer(Comparison *comparison, size_t n_rows_max, Answer **ret);

/* By how much the median of a name changed: 0.1 means 10 % more. Returns false if it is missing on one side. */
bool comparison_change(const Comparison *comparison, const char *name, double *ret);
