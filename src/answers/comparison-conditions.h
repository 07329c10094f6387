/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Conditions of a comparison: under which the recordings of each side were made
 *
 * A difference that comes from another kernel, or from a cold instead of a hot processor, is not the program's. So
 * before any figure, this compares what the recordings say about their machine, its load and their config.
 */

#include "trace/trace-pool.h"
#include "trace/trace-store.h"

/* Must be the same in all recordings. */
typedef enum ConditionText {
        CONDITION_KERNEL,
        CONDITION_SYSTEM,    /* the distribution and its version */
        CONDITION_PROCESSOR, /* its model */
        CONDITION_CPUS,      /* number of CPUs */
        CONDITION_SOURCES,   /* the data sources, and a checksum of their configs */
        N_CONDITION_TEXTS,
} ConditionText;

/* A figure for each recording, or NAN. */
typedef enum ConditionNumber {
        CONDITION_SECONDS, /* length of the recording */
        CONDITION_BUSY,    /* share of the CPUs that was used */
        CONDITION_HZ,      /* average frequency, over time and CPUs */
        N_CONDITION_NUMBERS,
} ConditionNumber;

#define CONDITION_HZ_CHANGE 0.05 /* smaller differences in frequency are not reported */

typedef struct ComparisonSide {
        size_t n, n_lossy;
        uint32_t
                texts[N_CONDITION_TEXTS]; /* index into names, of the first recording; 0: unknown */
        uint32_t others[N_CONDITION_TEXTS]; /* of a recording that differs, if the side is mixed */
        bool is_mixed[N_CONDITION_TEXTS];
        double *values[N_CONDITION_NUMBERS]; /* recordings that have a value */
        size_t n_values[N_CONDITION_NUMBERS], n_allocated[N_CONDITION_NUMBERS];
} ComparisonSide;

typedef struct ComparisonConditions {
        ComparisonSide sides[2];
} ComparisonConditions;

void comparison_conditions_deinit(ComparisonConditions *conditions);

/* Adds a recording, whose time from start to end is compared and in which threads ran for busy_ns. Returns 0, or
 * -ENOMEM. */
int comparison_conditions_add(ComparisonConditions *conditions,
                              unsigned side,
                              const TraceStore *store,
                              TracePool *names,
                              int64_t start,
                              int64_t end,
                              double busy_ns);

/* The value of a side's recordings, or all their values if they differ. A constant, or a text in names; NULL:
 * unknown. */
const char *comparison_conditions_text(const ComparisonConditions *conditions,
                                       unsigned side,
                                       ConditionText text,
                                       TracePool *names);

/* Whether the value is known for all recordings of both sides, or unknown for both sides. */
bool comparison_conditions_is_same(const ComparisonConditions *conditions, ConditionText text);

/* The median; NAN if no recording of this side has the figure. */
double comparison_conditions_median(const ComparisonConditions *conditions,
                                    unsigned side,
                                    ConditionNumber number);
