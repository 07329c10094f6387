/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace table: rows in columns of fixed width
 *
 * The index of a row is its id. A column uses no memory until some row has a value in it. The column's type says how an
 * empty cell reads. A table is full when all tables of the store together have used up their budget.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

#define TRACE_NONE     UINT32_MAX
#define TRACE_NO_TIME  INT64_MIN
#define TRACE_ROWS_MAX (UINT32_MAX - 1)

typedef enum TraceType {
        TRACE_TYPE_I64,    /* nothing: TRACE_NO_TIME */
        TRACE_TYPE_DOUBLE, /* always something */
        TRACE_TYPE_ID,     /* 32 bits; empty: TRACE_NONE */
        TRACE_TYPE_I32,    /* nothing: INT32_MIN */
        TRACE_TYPE_NAME,   /* number in the pool; empty: 0 */
        TRACE_TYPE_U16,    /* nothing: UINT16_MAX */
        TRACE_TYPE_I16,    /* nothing: INT16_MIN */
        TRACE_TYPE_U8,     /* nothing: UINT8_MAX */
        TRACE_TYPE_STATE,  /* 8 bits, number of a state of the store; empty: 0 */
} TraceType;

typedef struct TraceColumnDef {
        const char *name;
        TraceType type;
} TraceColumnDef;

typedef struct TraceTableDef {
        const char *name;
        const TraceColumnDef *columns;
        size_t n_columns;
        bool is_sorted; /* by its first column, a time */
} TraceTableDef;

/* How many bytes the tables may take together. */
typedef struct TraceBudget {
        uint64_t n_bytes, n_bytes_max;
        bool is_over;
} TraceBudget;

typedef struct TraceTable {
        const TraceTableDef *def;
        TraceBudget *budget;
        void **columns;
        size_t n, n_allocated;
        size_t row_bytes; /* the bytes per row in all columns that exist */
} TraceTable;

/* Returns 0 or -ENOMEM. */
int trace_table_init(TraceTable *table, const TraceTableDef *def, TraceBudget *budget);
void trace_table_deinit(TraceTable *table);

size_t trace_type_width(TraceType type);

/* Adds a row whose cells are empty. Returns TRACE_NONE if there is no room. */
uint32_t trace_table_add(TraceTable *table);

/* Makes the columns of these bits exist, for trace_table_add_raw(). */
bool trace_table_make(TraceTable *table, uint32_t columns);
/* Adds a row. Its cells in existing columns hold arbitrary values, and the caller sets each of them. */
uint32_t trace_table_add_raw(TraceTable *table);

/* A value that finds no memory is lost, and the budget takes note of that. */
void trace_table_set_i64(TraceTable *table, unsigned column, uint32_t row, int64_t value);
void trace_table_set_double(TraceTable *table, unsigned column, uint32_t row, double value);
void trace_table_set(TraceTable *table, unsigned column, uint32_t row, uint32_t value);

int64_t trace_table_i64(const TraceTable *table, unsigned column, uint32_t row);
double trace_table_double(const TraceTable *table, unsigned column, uint32_t row);
/* The value of a cell of any type of up to 32 bits. Empty cells read as TRACE_NONE, or 0 in columns of names and
 * states. */
uint32_t trace_table_get(const TraceTable *table, unsigned column, uint32_t row);
/* The value of a cell of any type but double. Returns false if the cell is empty. */
bool trace_table_number(const TraceTable *table, unsigned column, uint32_t row, int64_t *ret);
