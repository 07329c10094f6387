/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace table: rows in columns of fixed width */

#include <errno.h>
#include <string.h>

#include "trace/trace-table.h"

#define ROWS_MIN 64

size_t trace_type_width(TraceType type) {
        static const uint8_t widths[] = {
                [TRACE_TYPE_I64] = 8, [TRACE_TYPE_DOUBLE] = 8, [TRACE_TYPE_ID] = 4,
                [TRACE_TYPE_I32] = 4, [TRACE_TYPE_NAME] = 4,   [TRACE_TYPE_U16] = 2,
                [TRACE_TYPE_I16] = 2, [TRACE_TYPE_U8] = 1,     [TRACE_TYPE_STATE] = 1,
        };

        return widths[type];
}

int trace_table_init(TraceTable *table, const TraceTableDef *def, TraceBudget *budget) {
        *table = (TraceTable){ .def = def, .budget = budget };
        table->columns = calloc(def->n_columns, sizeof(*table->columns));
        return table->columns ? 0 : -ENOMEM;
}

void trace_table_deinit(TraceTable *table) {
        if (table->columns)
                for (size_t i = 0; i < table->def->n_columns; i++)
                        free(table->columns[i]);
        free(table->columns);
        *table = (TraceTable){ 0 };
}

static void fill_i64(int64_t *values, size_t n) {
        for (size_t i = 0; i < n; i++)
                values[i] = TRACE_NO_TIME;
}

static void fill_i32(int32_t *values, size_t n) {
        for (size_t i = 0; i < n; i++)
                values[i] = INT32_MIN;
}

static void fill_i16(int16_t *values, size_t n) {
        for (size_t i = 0; i < n; i++)
                values[i] = INT16_MIN;
}

static void column_fill(void *data, TraceType type, size_t from, size_t to) {
        size_t width = trace_type_width(type);
        void *at = (char *)data + from * width;

        if (type == TRACE_TYPE_I64)
                fill_i64(at, to - from);
        else if (type == TRACE_TYPE_I32)
                fill_i32(at, to - from);
        else if (type == TRACE_TYPE_I16)
                fill_i16(at, to - from);
        else if (type == TRACE_TYPE_NAME || type == TRACE_TYPE_STATE || type == TRACE_TYPE_DOUBLE)
                memset(at, 0, (to - from) * width);
        else
                memset(at, 0xff, (to - from) * width);
}

static bool budget_take(TraceBudget *budget, size_t n_bytes) {
        if (n_bytes > budget->n_bytes_max - MIN(budget->n_bytes, budget->n_bytes_max)) {
                budget->is_over = true;
                return false;
        }
        budget->n_bytes += n_bytes;
        return true;
}

/* Only rows that exist have been written, so memory that is merely allocated is not touched. */
static bool column_make(TraceTable *table, unsigned column) {
        TraceType type = table->def->columns[column].type;

        if (table->columns[column])
                return true;
        table->columns[column] = reallocarray(NULL, table->n_allocated, trace_type_width(type));
        if (!table->columns[column]) {
                table->budget->is_over = true;
                return false;
        }
        column_fill(table->columns[column], type, 0, table->n);
        table->row_bytes += trace_type_width(type);
        return budget_take(table->budget, table->n * trace_type_width(type));
}

static bool table_grow(TraceTable *table) {
        size_t more = table->n_allocated ? table->n_allocated + table->n_allocated / 2 : ROWS_MIN;

        for (size_t i = 0; i < table->def->n_columns; i++) {
                void *larger;

                if (!table->columns[i])
                        continue;
                larger = reallocarray(
                        table->columns[i], more, trace_type_width(table->def->columns[i].type));
                if (!larger)
                        return false;
                table->columns[i] = larger;
        }
        table->n_allocated = more;
        return true;
}

bool trace_table_make(TraceTable *table, uint32_t columns) {
        if (table->n_allocated == 0 && !table_grow(table))
                return false;
        for (unsigned i = 0; i < table->def->n_columns; i++)
                if (columns & 1u << i && !column_make(table, i))
                        return false;
        return true;
}

uint32_t trace_table_add_raw(TraceTable *table) {
        if (UNLIKELY(table->n == table->n_allocated)) {
                if (table->n >= TRACE_ROWS_MAX || !table_grow(table)) {
                        table->budget->is_over = true;
                        return TRACE_NONE;
                }
        }
        if (UNLIKELY(!budget_take(table->budget, table->row_bytes)))
                return TRACE_NONE;
        return (uint32_t)table->n++;
}

uint32_t trace_table_add(TraceTable *table) {
        uint32_t row = trace_table_add_raw(table);

        if (row == TRACE_NONE)
                return row;
        for (size_t i = 0; i < table->def->n_columns; i++)
                if (table->columns[i])
                        column_fill(table->columns[i], table->def->columns[i].type, row, row + 1);
        return row;
}

void trace_table_set_i64(TraceTable *table, unsigned column, uint32_t row, int64_t value) {
        if (LIKELY(table->columns[column] || column_make(table, column)))
                ((int64_t *)table->columns[column])[row] = value;
}

void trace_table_set_double(TraceTable *table, unsigned column, uint32_t row, double value) {
        if (LIKELY(table->columns[column] || column_make(table, column)))
                ((double *)table->columns[column])[row] = value;
}

void trace_table_set(TraceTable *table, unsigned column, uint32_t row, uint32_t value) {
        void *data;

        if (UNLIKELY(!table->columns[column] && !column_make(table, column)))
                return;
        data = table->columns[column];
        switch (trace_type_width(table->def->columns[column].type)) {
        case 1:
                ((uint8_t *)data)[row] = (uint8_t)value;
                break;
        case 2:
                ((uint16_t *)data)[row] = (uint16_t)value;
                break;
        default:
                ((uint32_t *)data)[row] = value;
                break;
        }
}

int64_t trace_table_i64(const TraceTable *table, unsigned column, uint32_t row) {
        const int64_t *data = table->columns[column];

        return data ? data[row] : TRACE_NO_TIME;
}

double trace_table_double(const TraceTable *table, unsigned column, uint32_t row) {
        const double *data = table->columns[column];

        return data ? data[row] : 0;
}

static uint32_t get_nothing(TraceType type) {
        return type == TRACE_TYPE_NAME || type == TRACE_TYPE_STATE ? 0 : TRACE_NONE;
}

uint32_t trace_table_get(const TraceTable *table, unsigned column, uint32_t row) {
        const void *data = table->columns[column];
        TraceType type = table->def->columns[column].type;
        uint32_t value;

        if (!data)
                return get_nothing(type);
        switch (type) {
        case TRACE_TYPE_STATE:
                return ((const uint8_t *)data)[row];
        case TRACE_TYPE_U8:
                value = ((const uint8_t *)data)[row];
                return value == UINT8_MAX ? TRACE_NONE : value;
        case TRACE_TYPE_U16:
                value = ((const uint16_t *)data)[row];
                return value == UINT16_MAX ? TRACE_NONE : value;
        case TRACE_TYPE_I16:
                value = (uint32_t)((const int16_t *)data)[row];
                return value == (uint32_t)INT16_MIN ? TRACE_NONE : value;
        default:
                value = ((const uint32_t *)data)[row];
                return type == TRACE_TYPE_I32 && value == (uint32_t)INT32_MIN ? TRACE_NONE : value;
        }
}

static bool number_is(int64_t value, int64_t nothing, int64_t *ret) {
        *ret = value;
        return value != nothing;
}

bool trace_table_number(const TraceTable *table, unsigned column, uint32_t row, int64_t *ret) {
        const void *data = table->columns[column];

        if (!data)
                return false;
        switch (table->def->columns[column].type) {
        case TRACE_TYPE_I64:
                return number_is(((const int64_t *)data)[row], TRACE_NO_TIME, ret);
        case TRACE_TYPE_I32:
                return number_is(((const int32_t *)data)[row], INT32_MIN, ret);
        case TRACE_TYPE_I16:
                return number_is(((const int16_t *)data)[row], INT16_MIN, ret);
        case TRACE_TYPE_U16:
                return number_is(((const uint16_t *)data)[row], UINT16_MAX, ret);
        case TRACE_TYPE_U8:
                return number_is(((const uint8_t *)data)[row], UINT8_MAX, ret);
        case TRACE_TYPE_STATE:
                return number_is(((const uint8_t *)data)[row], 0, ret);
        case TRACE_TYPE_NAME:
                return number_is(((const uint32_t *)data)[row], 0, ret);
        default:
                return number_is(((const uint32_t *)data)[row], TRACE_NONE, ret);
        }
}
