/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Query output: the rows of a statement */

#include "client/query-output.h"

#include <stdio.h>
#include <string.h>

#include "client/charset.h"
#include "client/say.h"

/*
 * Tables
 */

/* Cells of the rows that were read ahead, row by row. */
typedef struct Cells {
        GPtrArray *texts;
        size_t *widths;
        bool *are_numbers;
        size_t n_columns, n_rows;
        bool is_printed;
} Cells;

static char *cell_text(sqlite3_stmt *statement, int column) {
        g_autofree char *clean = NULL;
        const char *text;

        if (sqlite3_column_type(statement, column) == SQLITE_NULL)
                return g_strdup("NULL");
        text = (const char *)sqlite3_column_text(statement, column);
        clean = say_clean(text ? text : "", (size_t)sqlite3_column_bytes(statement, column));
        return charset_reduce(g_steal_pointer(&clean));
}

static bool cell_is_number(sqlite3_stmt *statement, int column) {
        int type = sqlite3_column_type(statement, column);

        return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static void print_cell(const Cells *cells, size_t column, const char *text) {
        int padding = (int)cells->widths[column] - (int)charset_width(text);

        padding = MAX(padding, 0);
        if (cells->are_numbers[column])
                printf("%*s%s", padding, "", text);
        else if (column + 1 < cells->n_columns)
                printf("%s%*s", text, padding, "");
        else
                fputs(text, stdout);
        fputs(column + 1 < cells->n_columns ? "  " : "\n", stdout);
}

static void cells_print_head(const Cells *cells, sqlite3_stmt *statement, bool has_legend) {
        if (!has_legend)
                return;
        fputs(style(stdout, STYLE_BOLD), stdout);
        for (size_t i = 0; i < cells->n_columns; i++) {
                const char *name = sqlite3_column_name(statement, (int)i);
                g_autofree char *clean = say_clean(name, strlen(name));

                print_cell(cells, i, clean);
        }
        fputs(style(stdout, STYLE_NORMAL), stdout);
}

static void cells_print(Cells *cells, sqlite3_stmt *statement, bool has_legend) {
        if (cells->is_printed)
                return;
        cells->is_printed = true;
        for (size_t i = 0; has_legend && i < cells->n_columns; i++)
                cells->widths[i] = MAX(cells->widths[i],
                                       charset_width(sqlite3_column_name(statement, (int)i)));
        cells_print_head(cells, statement, has_legend);
        for (guint i = 0; i < cells->texts->len; i++)
                print_cell(cells, i % cells->n_columns, g_ptr_array_index(cells->texts, i));
}

static void cells_take_row(Cells *cells, sqlite3_stmt *statement) {
        for (size_t i = 0; i < cells->n_columns; i++) {
                char *text = cell_text(statement, (int)i);
                size_t width = MIN(charset_width(text), (size_t)QUERY_OUTPUT_WIDTH_MAX);

                if (cells->is_printed) {
                        print_cell(cells, i, text);
                        g_free(text);
                        continue;
                }
                cells->widths[i] = MAX(cells->widths[i], width);
                cells->are_numbers[i] |= cell_is_number(statement, (int)i);
                g_ptr_array_add(cells->texts, text);
        }
        cells->n_rows++;
}

static int run_table(const QueryOutput *output, Query *query, sqlite3_stmt *statement) {
        Cells cells = { .texts = g_ptr_array_new_with_free_func(g_free),
                        .n_columns = (size_t)sqlite3_column_count(statement) };
        int r;

        cells.widths = g_new0(size_t, cells.n_columns + 1);
        cells.are_numbers = g_new0(bool, cells.n_columns + 1);
        while ((r = query_step(query, statement)) == 0) {
                cells_take_row(&cells, statement);
                if (cells.n_rows == QUERY_OUTPUT_LOOK)
                        cells_print(&cells, statement, output->has_legend);
        }
        if (cells.n_columns && r == QUERY_E_DONE)
                cells_print(&cells, statement, output->has_legend);
        g_ptr_array_unref(cells.texts);
        g_free(cells.widths);
        g_free(cells.are_numbers);
        return r;
}

static FILE *stream_of(const QueryOutput *output) {
        return output->stream ? output->stream : stdout;
}

/*
 * CSV
 */

static void print_csv(FILE *stream, const char *text, size_t n) {
        if (n && !memchr(text, '"', n) && !memchr(text, ',', n) && !memchr(text, '\n', n) &&
            !memchr(text, '\r', n)) {
                fwrite(text, 1, n, stream);
                return;
        }
        putc('"', stream);
        for (size_t i = 0; i < n; i++) {
                if (text[i] == '"')
                        putc('"', stream);
                putc(text[i], stream);
        }
        putc('"', stream);
}

/* NULL is an empty cell, and an empty text has quotes. */
static void print_csv_row(FILE *stream, sqlite3_stmt *statement, int n_columns) {
        for (int i = 0; i < n_columns; i++) {
                const char *text = (const char *)sqlite3_column_text(statement, i);

                if (i)
                        putc(',', stream);
                if (text)
                        print_csv(stream, text, (size_t)sqlite3_column_bytes(statement, i));
        }
        putc('\n', stream);
}

static int run_csv(const QueryOutput *output, Query *query, sqlite3_stmt *statement) {
        FILE *stream = stream_of(output);
        int n_columns = sqlite3_column_count(statement), r;

        for (int i = 0; output->has_legend && i < n_columns; i++) {
                const char *name = sqlite3_column_name(statement, i);

                if (i)
                        putc(',', stream);
                print_csv(stream, name, strlen(name));
        }
        if (output->has_legend && n_columns)
                putc('\n', stream);
        while ((r = query_step(query, statement)) == 0)
                print_csv_row(stream, statement, n_columns);
        return r;
}

/*
 * JSON
 */

static void json_cell(JsonWriter *writer, sqlite3_stmt *statement, int column) {
        const char *name = sqlite3_column_name(statement, column);
        const char *text;

        switch (sqlite3_column_type(statement, column)) {
        case SQLITE_INTEGER:
                json_int(writer, name, sqlite3_column_int64(statement, column));
                break;
        case SQLITE_FLOAT:
                json_double(writer, name, sqlite3_column_double(statement, column));
                break;
        case SQLITE_NULL:
                json_string(writer, name, NULL);
                break;
        default:
                text = (const char *)sqlite3_column_text(statement, column);
                if (text && g_utf8_validate(text, -1, NULL)) {
                        json_string(writer, name, text);
                } else {
                        g_autofree char *clean = g_utf8_make_valid(text ? text : "", -1);

                        json_string(writer, name, clean);
                }
        }
}

/* Each row is on a line of its own, so that they need not be kept. */
static int run_json(const QueryOutput *output, Query *query, sqlite3_stmt *statement) {
        int n_columns = sqlite3_column_count(statement), r;
        bool are_lines = output->format == QUERY_FORMAT_JSON_LINES;
        const char *before = are_lines ? "" : "[";
        FILE *stream = stream_of(output);

        while ((r = query_step(query, statement)) == 0) {
                _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };

                json_writer_init(&writer, output->json);
                json_begin_object(&writer, NULL);
                for (int i = 0; i < n_columns; i++)
                        json_cell(&writer, statement, i);
                json_end_object(&writer);
                fprintf(stream, "%s%s", before, writer.text->str);
                before = are_lines ? "\n" : ",\n";
        }
        if (are_lines)
                fputs(*before ? "\n" : "", stream);
        else
                fputs(*before == '[' ? "[]\n" : "]\n", stream);
        return r;
}

int query_output_run(const QueryOutput *output, Query *query, sqlite3_stmt *statement) {
        switch (output->format) {
        case QUERY_FORMAT_CSV:
                return run_csv(output, query, statement);
        case QUERY_FORMAT_JSON:
        case QUERY_FORMAT_JSON_LINES:
                return run_json(output, query, statement);
        default:
                return run_table(output, query, statement);
        }
}
