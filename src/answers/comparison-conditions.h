/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Conditions of a comparison: under which the recordings of each side were made
 *
 * A difference between two kernels, or between a cold and a hot processor, is none of the program. So what a recording
 * says of its machine, its load and its config is held against that of the others before any figure is.
 */

#include "trace/trace-pool.h"
#include "trace/trace-store.h"

/* What has to be the same in all recordings. */
typedef enum ConditionText {
        CONDITION_KERNEL,
        CONDITION_SYSTEM,    /* the distribution and its version */
        CONDITION_PROCESSOR, /* its model */
        CONDITION_CPUS,      /* how many there are */
        CONDITION_SOURCES,   /* the data sources, with a sum of their configs */
        N_CONDITION_TEXTS,
} ConditionText;

/* What each recording has a figure of, or NAN. */
typedef enum ConditionNumber {
        CONDITION_SECONDS, /* how long it is */
        CONDITION_BUSY,    /* which share of the CPUs was used */
        CONDITION_HZ,      /* at which frequency they ran, on average over time and CPUs */
        N_CONDITION_NUMBERS,
} ConditionNumber;

#define CONDITION_HZ_CHANGE 0.05 /* smaller differences of the frequency are not told */

typedef struct ComparisonSide {
        size_t n, n_lossy;
        uint32_t texts[N_CONDITION_TEXTS];  /* in names, of the first recording; 0: not known */
        uint32_t others[N_CONDITION_TEXTS]; /* of another one, if the side is mixed */
        bool is_mixed[N_CONDITION_TEXTS];
        double *values[N_CONDITION_NUMBERS]; /* of recordings that have one */
        size_t n_values[N_CONDITION_NUMBERS], n_allocated[N_CONDITION_NUMBERS];
} ComparisonSide;

typedef struct ComparisonConditions {
        ComparisonSide sides[2];
} ComparisonConditions;

void comparison_conditions_deinit(ComparisonConditions *conditions);

/* A recording, of which the time from start to end is compared and in which threads ran for busy_ns. 0, or -ENOMEM. */
int comparison_conditions_add(ComparisonConditions *conditions,
                              unsigned side,
                              const TraceStore *store,
                              TracePool *names,
                              int64_t start,
                              int64_t end,
                              double busy_ns);

/* What the recordings of a side have, one after the other if that is not the same. Constant or in names; NULL: not
 * known. */
const char *comparison_conditions_text(const ComparisonConditions *conditions,
                                       unsigned side,
                                       ConditionText text,
                                       TracePool *names);

/* Whether it is known of both sides that all recordings have the same, or not known of either. */
bool comparison_conditions_is_same(const ComparisonConditions *conditions, ConditionText text);

/* The median; NAN: no recording of this side has the figure. */
double comparison_conditions_median(const ComparisonConditions *conditions,
                                    unsigned side,
                                    ConditionNumber number);
