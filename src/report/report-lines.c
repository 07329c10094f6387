/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A counting sort in three passes over the table: the depth of each key, the number of rows of each line, and the rows
 * to draw.
 */

#include "report/report-lines.h"

#include <errno.h>

typedef struct Sorting {
        ReportLines *lines;
        const TraceTable *table;
        const ReportColumns *columns;
} Sorting;

/* TRACE_NONE: the row is not drawn. */
static uint32_t key_of(const Sorting *sorting, uint32_t row) {
        const ReportColumns *columns = sorting->columns;

        if (columns->only > 0 &&
            trace_table_get(sorting->table, (unsigned)columns->only, row) != columns->text)
                return TRACE_NONE;
        return trace_table_get(sorting->table, (unsigned)sorting->columns->key, row);
}

static uint32_t depth_of(const Sorting *sorting, uint32_t row) {
        uint32_t depth;

        if (sorting->columns->depth < 0)
                return 0;
        depth = trace_table_get(sorting->table, (unsigned)sorting->columns->depth, row);
        return depth == TRACE_NONE ? 0 : depth;
}

/* first_line[] holds the number of lines of each key until the sums are made. */
static void count_lines(const Sorting *sorting) {
        ReportLines *lines = sorting->lines;

        for (uint32_t row = 0; row < sorting->table->n; row++) {
                uint32_t key = key_of(sorting, row);

                if (key < lines->n_keys)
                        lines->first_line[key + 1] =
                                MAX(lines->first_line[key + 1], depth_of(sorting, row) + 1);
        }
        for (size_t key = 0; key < lines->n_keys; key++)
                lines->first_line[key + 1] += lines->first_line[key];
        lines->n_lines = lines->first_line[lines->n_keys];
}

/* TRACE_NONE: on none. */
static uint32_t line_of(const Sorting *sorting, uint32_t row) {
        uint32_t key = key_of(sorting, row);

        return key < sorting->lines->n_keys
                       ? sorting->lines->first_line[key] + depth_of(sorting, row)
                       : TRACE_NONE;
}

static void count_items(const Sorting *sorting) {
        ReportLines *lines = sorting->lines;

        for (uint32_t row = 0; row < sorting->table->n; row++) {
                uint32_t line = line_of(sorting, row);

                if (line != TRACE_NONE)
                        lines->offsets[line + 1]++;
        }
        for (size_t line = 0; line < lines->n_lines; line++)
                lines->offsets[line + 1] += lines->offsets[line];
}

static ReportItem item_of(const Sorting *sorting, uint32_t row) {
        const ReportColumns *columns = sorting->columns;
        ReportItem item = { .start_ns = trace_table_i64(
                                    sorting->table, (unsigned)columns->start, row) };

        if (columns->duration >= 0)
                item.duration_ns =
                        trace_table_i64(sorting->table, (unsigned)columns->duration, row);
        else if (columns->value >= 0)
                item.value = trace_table_double(sorting->table, (unsigned)columns->value, row);
        if (columns->what >= 0)
                item.what = trace_table_get(sorting->table, (unsigned)columns->what, row);
        return item;
}

/* Each offset moves to the end of its line, which is where the next one begins, and then back. */
static void place_items(const Sorting *sorting) {
        ReportLines *lines = sorting->lines;

        for (uint32_t row = 0; row < sorting->table->n; row++) {
                uint32_t line = line_of(sorting, row);

                if (line != TRACE_NONE)
                        lines->items[lines->offsets[line]++] = item_of(sorting, row);
        }
        memmove(lines->offsets + 1, lines->offsets, lines->n_lines * sizeof(*lines->offsets));
        lines->offsets[0] = 0;
}

int report_lines_init(ReportLines *lines,
                      const TraceTable *table,
                      const ReportColumns *columns,
                      size_t n_keys) {
        const Sorting sorting = { lines, table, columns };

        *lines = (ReportLines){ .n_keys = n_keys };
        lines->first_line = calloc(n_keys + 1, sizeof(*lines->first_line));
        if (!lines->first_line)
                return -ENOMEM;
        count_lines(&sorting);
        lines->offsets = calloc(lines->n_lines + 1, sizeof(*lines->offsets));
        if (!lines->offsets)
                return -ENOMEM;
        count_items(&sorting);
        lines->items = calloc((size_t)lines->offsets[lines->n_lines] + 1, sizeof(*lines->items));
        if (!lines->items)
                return -ENOMEM;
        place_items(&sorting);
        return 0;
}

void report_lines_deinit(ReportLines *lines) {
        free(lines->first_line);
        free(lines->offsets);
        free(lines->items);
        *lines = (ReportLines){ 0 };
}
