/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace args: named values that describe something else */

#include "trace/trace-args.h"

#include <string.h>

#include "shared/siphash.h"

void trace_args_deinit(TraceArgs *args) {
        free(args->args);
        *args = (TraceArgs){ 0 };
}

void trace_args_add(TraceArgs *args, const TraceArg *arg) {
        for (size_t i = 0; i < args->n; i++)
                if (args->args[i].key == arg->key) {
                        args->args[i] = *arg;
                        return;
                }
        if (args->n == TRACE_ARGS_MAX ||
            trace_reserve((void **)&args->args, &args->n_allocated, args->n + 1, sizeof(*arg)))
                return;
        args->args[args->n++] = *arg;
}

static TraceArg arg_named(TraceStore *store, const char *key, const char *type) {
        uint32_t name = trace_pool_add_text(&store->pool, key);

        return (TraceArg){
                .flat_key = name,
                .key = name,
                .type = trace_pool_add_text(&store->pool, type),
                .number = TRACE_NO_TIME,
        };
}

void trace_args_add_int(TraceArgs *args, TraceStore *store, const char *key, int64_t value) {
        TraceArg arg = arg_named(store, key, "int");

        arg.number = value;
        trace_args_add(args, &arg);
}

void trace_args_add_bool(TraceArgs *args, TraceStore *store, const char *key, bool value) {
        TraceArg arg = arg_named(store, key, "bool");

        arg.number = value;
        trace_args_add(args, &arg);
}

void trace_args_add_string(TraceArgs *args, TraceStore *store, const char *key, uint32_t text) {
        TraceArg arg = arg_named(store, key, "string");

        arg.string = text;
        trace_args_add(args, &arg);
}

void trace_args_add_set(TraceArgs *args, const TraceStore *store, uint32_t set) {
        const TraceTable *table = &store->tables[TRACE_TABLE_ARG];

        if (set == TRACE_NONE)
                return;
        for (uint32_t row = set; row < table->n && trace_table_get(table, ARG_SET, row) == set;
             row++) {
                TraceArg arg = {
                        .flat_key = trace_table_get(table, ARG_FLAT_KEY, row),
                        .key = trace_table_get(table, ARG_KEY, row),
                        .type = trace_table_get(table, ARG_TYPE, row),
                        .string = trace_table_get(table, ARG_STRING, row),
                        .number = trace_table_i64(table, ARG_INT, row),
                        .real = trace_table_double(table, ARG_REAL, row),
                };

                trace_args_add(args, &arg);
        }
}

void trace_arg_sets_deinit(TraceArgSets *sets) {
        trace_map_deinit(&sets->by_hash);
}

static uint32_t set_insert(TraceStore *store, const TraceArgs *args) {
        TraceTable *table = trace_store_table(store, TRACE_TABLE_ARG);
        uint32_t set = (uint32_t)table->n;

        for (size_t i = 0; i < args->n; i++) {
                uint32_t row = trace_table_add(table);

                if (row == TRACE_NONE)
                        return i ? set : TRACE_NONE;
                trace_table_set(table, ARG_SET, row, set);
                trace_table_set(table, ARG_FLAT_KEY, row, args->args[i].flat_key);
                trace_table_set(table, ARG_KEY, row, args->args[i].key);
                trace_table_set(table, ARG_TYPE, row, args->args[i].type);
                if (args->args[i].number != TRACE_NO_TIME)
                        trace_table_set_i64(table, ARG_INT, row, args->args[i].number);
                if (args->args[i].string)
                        trace_table_set(table, ARG_STRING, row, args->args[i].string);
                if (args->args[i].real != 0)
                        trace_table_set_double(table, ARG_REAL, row, args->args[i].real);
        }
        return set;
}

/* Two sets count as the same if their keyed hashes of 63 bits are equal. */
uint32_t trace_arg_sets_store(TraceArgSets *sets, TraceStore *store, const TraceArgs *args) {
        uint64_t hash, known;
        uint32_t set;

        if (args->n == 0)
                return TRACE_NONE;
        hash = siphash_keyed(args->args, args->n * sizeof(*args->args)) >> 1;
        known = trace_map_find(&sets->by_hash, hash);
        if (known != TRACE_MAP_NONE)
                return (uint32_t)known;
        set = set_insert(store, args);
        if (set != TRACE_NONE && trace_map_set(&sets->by_hash, hash, set))
                store->budget.is_over = true;
        return set;
}

uint32_t trace_arg_sets_join(TraceArgSets *sets,
                             TraceStore *store,
                             TraceArgs *scratch,
                             uint32_t first,
                             uint32_t second) {
        trace_args_clear(scratch);
        trace_args_add_set(scratch, store, first);
        trace_args_add_set(scratch, store, second);
        return trace_arg_sets_store(sets, store, scratch);
}
