/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace args: named values that describe something else
 *
 * They come in sets. A set that has been seen before is not stored again. Its number is the row of its first value.
 */

#include "trace/trace-map.h"
#include "trace/trace-store.h"

#define TRACE_ARGS_MAX 4096 /* of one set */

typedef struct TraceArg {
        uint32_t flat_key, key, type;
        uint32_t string;
        int64_t number;
        double real;
} TraceArg;

typedef struct TraceArgs {
        TraceArg *args;
        size_t n, n_allocated;
} TraceArgs;

typedef struct TraceArgSets {
        TraceMap by_hash; /* → number */
        uint64_t n_dropped;
} TraceArgSets;

void trace_args_deinit(TraceArgs *args);

static inline void trace_args_clear(TraceArgs *args) {
        args->n = 0;
}

/* If a key comes twice, the last value counts. Values beyond TRACE_ARGS_MAX are left out. */
void trace_args_add(TraceArgs *args, const TraceArg *arg);

void trace_args_add_int(TraceArgs *args, TraceStore *store, const char *key, int64_t value);
void trace_args_add_bool(TraceArgs *args, TraceStore *store, const char *key, bool value);
void trace_args_add_string(TraceArgs *args, TraceStore *store, const char *key, uint32_t text);

/* Adds the values of a stored set. */
void trace_args_add_set(TraceArgs *args, const TraceStore *store, uint32_t set);

void trace_arg_sets_deinit(TraceArgSets *sets);

/* Returns the set's number, or TRACE_NONE if the set is empty or there is no room. */
uint32_t trace_arg_sets_store(TraceArgSets *sets, TraceStore *store, const TraceArgs *args);

/* Stores the arguments of two sets as one. `scratch` is overwritten. Returns what trace_arg_sets_store() does. */
uint32_t trace_arg_sets_join(TraceArgSets *sets,
                             TraceStore *store,
                             TraceArgs *scratch,
                             uint32_t first,
                             uint32_t second);
