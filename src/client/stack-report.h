/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stack report: where the samples of a trace are
 *
 * By function, by stack, by process and by thread, each with the largest first; and what is not to be believed: stacks
 * that are not complete, with the file in which they end, and files whose functions have no names. What was sampled
 * for another reason than that it ran, such as that it slept, has a report of its own.
 */

#include <glib.h>
#include <stdint.h>

#include "trace/trace-store.h"

#define STACK_REPORT_MEMORY      (UINT64_C(2) << 30)
#define STACK_REPORT_SOURCES_MAX 32 /* of samples with weights; others are not shown */

typedef struct StackFunction {
        char *name; /* NULL: all functions without names of one file */
        char *module;
        uint64_t n_self;  /* the weight of samples in it */
        uint64_t n_total; /* and in what it called */
        uint32_t turn;    /* of counting: the last stack that it was on */
} StackFunction;

/* A process or a thread. */
typedef struct StackOwner {
        int32_t id;
        const char *name;    /* or NULL */
        const char *process; /* of a thread; or NULL */
        uint64_t weight;     /* of its samples */
        uint64_t n_incomplete;
        const StackFunction *hottest;
        uint64_t n_hottest; /* likewise a weight */
} StackOwner;

typedef struct StackPath {
        uint32_t callsite;
        uint64_t n; /* a weight */
} StackPath;

/* Where stacks end that are not complete. */
typedef struct StackGap {
        const char *module; /* or NULL: outside of all files */
        const char *why;
        uint64_t n;
} StackGap;

typedef struct StackReport {
        TraceStore *store;
        struct StackReport
                *next;      /* of another source of samples, which borrows the store; or NULL */
        const char *source; /* NULL: samples of what processors ran, each of which weighs 1 */
        const char *unit;   /* of weights */
        uint64_t weight;    /* of all samples */
        uint64_t n_samples;
        uint64_t n_complete;
        uint64_t n_lost;      /* records that the kernel had no room for */
        uint64_t n_recording; /* samples in what records */
        GPtrArray *functions; /* of StackFunction */
        GPtrArray *processes; /* of StackOwner */
        GPtrArray *threads;   /* likewise */
        GPtrArray *gaps;      /* of StackGap */
        GArray *paths;        /* of StackPath */
        StackFunction **by_frame;
} StackReport;

/* *ret is NULL when there are no samples. Returns 0 or an errno. */
int stack_report_read(StackReport **ret, int fd);
StackReport *stack_report_free(StackReport *report);
DEFINE_CLEANUP(StackReport *, stack_report_free)

/* "leaf < caller < …": the innermost frames of a stack, n_frames_max at most; free with g_free(). Of what slept only
 * the innermost frame of the kernel is among them. */
char *stack_report_path(const StackReport *report, uint32_t callsite, size_t n_frames_max);
