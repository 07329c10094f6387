/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Heap report: what programs have allocated, at the end of a trace
 *
 * By program, the one with the most in use first, and in each by call stack. The report also says what cannot be
 * trusted: incomplete stacks, and allocations that were counted without a stack.
 */

#include <glib.h>
#include <stdint.h>

#include "trace/trace-heap.h"
#include "trace/trace-store.h"

#define HEAP_REPORT_MEMORY (UINT64_C(2) << 30)

typedef struct HeapSite {
        uint32_t callsite;
        bool is_complete;
        uint64_t sums[_TRACE_HEAP_SUMS_N];
} HeapSite;

/* What threads of one name have allocated. */
typedef struct HeapThreadSums {
        const char *name; /* NULL: not known */
        uint64_t sums[_TRACE_HEAP_SUMS_N];
} HeapThreadSums;

/* A heap of a program; each of several recordings of it at the same time is one. */
typedef struct HeapProgram {
        int32_t pid;
        const char *name; /* or NULL */
        const char *heap;
        uint64_t interval;
        uint32_t recording; /* 0, except for second and further recordings at the same time */
        bool has_ended;     /* the program has ended, and these allocations were left */
        uint64_t sums[_TRACE_HEAP_SUMS_N];
        size_t n_complete;
        uint64_t complete; /* bytes that complete stacks allocated */
        uint64_t others;   /* bytes of stacks that there was no room for */
        GArray *sites;     /* of HeapSite */
        GArray *threads;   /* of HeapThreadSums, the one with the most in use first */
} HeapProgram;

typedef struct HeapReport {
        TraceStore *store;
        GPtrArray *programs; /* of HeapProgram */
        uint64_t n_invalid;  /* sums that contradict each other, or whose stack is missing */
} HeapReport;

/* *ret is NULL when there are none. Returns 0 or an errno. */
int heap_report_read(HeapReport **ret, int fd);
HeapReport *heap_report_free(HeapReport *report);
DEFINE_CLEANUP(HeapReport *, heap_report_free)

/* Bytes and allocations that are not freed. */
uint64_t heap_in_use(const uint64_t *sums);
uint64_t heap_n_in_use(const uint64_t *sums);

typedef enum HeapOrder { HEAP_BY_IN_USE, HEAP_BY_PEAK, HEAP_BY_CHURN } HeapOrder;

/* A site's value in an order, and the sites whose value is not 0, the largest first: of HeapSite, borrowed. */
uint64_t heap_order_value(HeapOrder order, const HeapSite *site);
GPtrArray *heap_report_sorted(const HeapProgram *program, HeapOrder order);
