/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export slices: the slices of the range in groups, and their arguments
 *
 * For formats that have slices in an order of their own, such as by thread. The tables are read directly: a statement
 * for each slice would take most of the time.
 */

#include "client/export.h"
#include "trace/trace-store.h"

typedef struct ExportSlice {
        uint64_t key; /* of its group */
        uint32_t row;
} ExportSlice;

/* Sorts by key, and then by time. `key` says whether the format can represent the slice; others are counted. */
GArray *export_slices(Export *export,
                      bool (*key)(const TraceStore *store, uint32_t row, uint64_t *ret));

/* The slice's end, or its beginning if the end is not known; never more than INT64_MAX. */
int64_t export_slice_end(const TraceStore *store, uint32_t row);

typedef enum ExportArgType {
        EXPORT_ARG_TEXT,
        EXPORT_ARG_INT,
        EXPORT_ARG_REAL,
        EXPORT_ARG_BOOL
} ExportArgType;

typedef struct ExportArg {
        const char *key;
        ExportArgType type;
        const char *text; /* the value as text, in the trace's memory or in `number` */
        int64_t value;
        double real;
        char number[24];
} ExportArg;

/* Calls `take` with the arguments of a set (or TRACE_NONE), n_max of them; returns how many were left out. */
size_t export_args(const TraceStore *store,
                   uint32_t set,
                   size_t n_max,
                   void (*take)(const ExportArg *arg, void *user_data),
                   void *user_data);

/* A row's name: "" if it has none. */
static inline const char *
export_name(const TraceStore *store, TraceTableId table, unsigned column, uint32_t row) {
        const char *text =
                trace_pool_text(&store->pool, trace_table_get(&store->tables[table], column, row));

        return text ? text : "";
}

/* The end of a path; other names stay, such as kworker/0:1. Malloc'ed. */
char *export_basename(const char *name);

/* The number of the thread or process, or TRACE_NONE. */
uint32_t export_slice_utid(const TraceStore *store, uint32_t row);
uint32_t export_slice_upid(const TraceStore *store, uint32_t row);

/* A text of the trace's metadata, or NULL. */
const char *export_metadata(const TraceStore *store, const char *name);
/* How far the wall clock is ahead of the trace's time. Returns false if the trace does not tell. */
bool export_realtime_offset(const TraceStore *store, int64_t *ret);
