/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace pool: stores each text once, and gives it a number
 *
 * The texts come from a file. The pool makes them valid UTF-8 and cuts them to TRACE_POOL_TEXT_MAX. Number 0 is "no
 * text". A text keeps its address for as long as the pool exists, and ends in NUL.
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
        TraceMap numbers; /* hash → number of the first text with that hash */
        struct TracePoolBlock *blocks;
        size_t n_bytes;
        uint64_t n_refused; /* texts past TRACE_POOL_BYTES_MAX, whose number is 0 */
} TracePool;

int trace_pool_init(TracePool *pool);
void trace_pool_deinit(TracePool *pool);

/* Returns the text's number, or 0 if there is no room. */
uint32_t trace_pool_add(TracePool *pool, const void *data, size_t n);
uint32_t trace_pool_add_text(TracePool *pool, const char *text);
uint32_t trace_pool_add_format(TracePool *pool, const char *format, ...) _printf_(2, 3);

/* Returns 0 if there is no such text. */
uint32_t trace_pool_find(const TracePool *pool, const void *data, size_t n);

/* NULL for 0. */
const char *trace_pool_text(const TracePool *pool, uint32_t number);
size_t trace_pool_length(const TracePool *pool, uint32_t number);
