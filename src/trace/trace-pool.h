/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace pool: each text once, by number
 *
 * Texts are what a file has, made valid UTF-8 and cut to TRACE_POOL_TEXT_MAX; number 0 is "no text". They stay where
 * they are as long as the pool does, and end in NUL.
 */

#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"
#include "trace/trace-map.h"

#define TRACE_POOL_TEXT_MAX  (64u << 10)
#define TRACE_POOL_BYTES_MAX (256u << 20)

typedef struct TracePool {
        struct TracePoolText *texts; /* by number */
        size_t n_texts, n_allocated;
        TraceMap numbers; /* hash → number of the first text with it */
        struct TracePoolBlock *blocks;
        size_t n_bytes;
        uint64_t n_refused; /* past TRACE_POOL_BYTES_MAX; their number is 0 */
} TracePool;

int trace_pool_init(TracePool *pool);
void trace_pool_deinit(TracePool *pool);

/* The text's number; 0 if there is no room. */
uint32_t trace_pool_add(TracePool *pool, const void *data, size_t n);
uint32_t trace_pool_add_text(TracePool *pool, const char *text);
uint32_t trace_pool_add_format(TracePool *pool, const char *format, ...) _printf_(2, 3);

/* 0: no such text. */
uint32_t trace_pool_find(const TracePool *pool, const void *data, size_t n);

/* NULL for 0. */
const char *trace_pool_text(const TracePool *pool, uint32_t number);
size_t trace_pool_length(const TracePool *pool, uint32_t number);
