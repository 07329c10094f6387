/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Table: rows of text in columns, on stdout */

#include <glib/gi18n.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/charset.h"
#include "client/say.h"
#include "client/table.h"
#include "client/wrap.h"

#define TABLE_LAST_WIDTH_MIN 24u /* of the last column; if it is narrower, it goes below */
#define TABLE_WIDTH_MIN      8u  /* of any other column of text that is cut */
#define TABLE_GAP            2
#define TABLE_INDENTATION    4u
#define NOTHING              "-"

void table_init(Table *table, const TableColumn *columns, size_t n_columns) {
        *table = (Table){
                .columns = columns,
                .n_columns = n_columns,
                .cells = g_ptr_array_new_with_free_func(g_free),
        };
}

void table_deinit(Table *table) {
        if (table->cells)
                g_ptr_array_unref(table->cells);
        table->cells = NULL;
}

void table_add(Table *table, const char *cell) {
        g_ptr_array_add(table->cells,
                        cell && *cell ? charset_reduce(say_clean(cell, strlen(cell)))
                                      : g_strdup(NOTHING));
}

void table_add_format(Table *table, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        g_ptr_array_add(table->cells, charset_reduce(g_strdup_vprintf(format, arguments)));
        va_end(arguments);
}

size_t table_n_rows(const Table *table) {
        return table->cells->len / table->n_columns;
}

static const char *table_cell(const Table *table, size_t row, size_t column) {
        return g_ptr_array_index(table->cells, row * table->n_columns + column);
}

static size_t table_width(const Table *table, size_t column, const char *title) {
        size_t width = title ? charset_width(title) : 0;

        for (size_t row = 0; row < table_n_rows(table); row++)
                width = MAX(width, charset_width(table_cell(table, row, column)));
        return width;
}

/* 0: without a terminal, lines may have any length. */
static size_t terminal_width(void) {
        struct winsize size;

        return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col
                                                                                     : 0;
}

/*
 * The widths of the columns
 */

/* Columns of text that are wider than this give up what others lack, the widest one first. Columns of numbers give
 * up nothing. */
static size_t *find_widest(const Table *table, size_t *widths, size_t n_columns, size_t more_than) {
        size_t *widest = NULL;

        for (size_t i = 0; i < n_columns; i++)
                if (!table->columns[i].is_number && widths[i] > more_than &&
                    (!widest || widths[i] > *widest))
                        widest = &widths[i];
        return widest;
}

static size_t sum_of_widths(const size_t *widths, size_t n) {
        size_t sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += widths[i] + TABLE_GAP;
        return sum;
}

/* Makes the first `n_columns` take no more than `available`, if possible. */
static void
narrow(const Table *table, size_t *widths, size_t n_columns, size_t width_min, size_t available) {
        size_t *widest;

        while (sum_of_widths(widths, n_columns) > available &&
               (widest = find_widest(table, widths, n_columns, width_min)))
                (*widest)--;
}

/* On a terminal, a row is no wider than the terminal. Returns whether the last column goes below the others, because
 * there is too little room for it. */
static bool fit(const Table *table, size_t *widths) {
        const size_t terminal = terminal_width(), n_first = table->n_columns - 1;
        const size_t last = MIN(widths[n_first], TABLE_LAST_WIDTH_MIN);
        size_t n_used;

        if (terminal == 0 || sum_of_widths(widths, n_first) + widths[n_first] <= terminal)
                return false;
        narrow(table, widths, n_first, TABLE_LAST_WIDTH_MIN, terminal - MIN(last, terminal));
        n_used = sum_of_widths(widths, n_first);
        if (n_used + last <= terminal) {
                widths[n_first] = MIN(widths[n_first], terminal - n_used);
                return false;
        }
        narrow(table, widths, n_first, TABLE_WIDTH_MIN, terminal);
        widths[n_first] = terminal - MIN(TABLE_INDENTATION, terminal / 2);
        return true;
}

/*
 * Rows
 */

static void append_spaces(GString *line, size_t n) {
        g_string_append_printf(line, "%*s", (int)n, "");
}

static void append_cell(GString *line, const TableColumn *column, const char *text, size_t width) {
        const size_t n_text = charset_width(text), n_padding = width > n_text ? width - n_text : 0;

        if (column->is_number)
                append_spaces(line, n_padding);
        g_string_append(line, text);
        if (!column->is_number)
                append_spaces(line, n_padding);
}

static const char *line_of(const GPtrArray *lines, guint i) {
        return i < lines->len ? g_ptr_array_index(lines, i) : "";
}

/* Prints one line of a row, with the part of each cell that belongs on it. The last cell is not filled up. */
static void print_line(const Table *table,
                       const size_t *widths,
                       GPtrArray *const *cells,
                       size_t n_cells,
                       guint number) {
        g_autoptr(GString) line = g_string_new(NULL);

        for (size_t i = 0; i < n_cells; i++) {
                const char *text = line_of(cells[i], number);

                if (i < table->n_columns - 1 || table->columns[i].is_number)
                        append_cell(line, &table->columns[i], text, widths[i]);
                else
                        g_string_append(line, text);
                if (i < table->n_columns - 1)
                        append_spaces(line, TABLE_GAP);
        }
        puts(number == 0 ? line->str : g_strchomp(line->str));
}

/* Prints the column that goes below the others, unless it says nothing. */
static void print_below(const GPtrArray *lines) {
        for (guint i = 0; i < lines->len; i++)
                printf("%*s%s\n", (int)TABLE_INDENTATION, "", line_of(lines, i));
}

static void print_row(const Table *table,
                      const size_t *widths,
                      const char *const *cells,
                      bool is_below,
                      bool is_legend) {
        const size_t n_beside = table->n_columns - is_below;
        GPtrArray *lines[TABLE_COLUMNS_MAX];
        guint n_lines = 1;

        for (size_t i = 0; i < table->n_columns; i++)
                lines[i] = wrap_lines(cells[i], widths[i]);
        for (size_t i = 0; i < n_beside; i++)
                n_lines = MAX(n_lines, lines[i]->len);
        for (guint i = 0; i < n_lines; i++)
                print_line(table, widths, lines, n_beside, i);
        if (is_below && !is_legend && !streq(cells[n_beside], NOTHING))
                print_below(lines[n_beside]);
        for (size_t i = 0; i < table->n_columns; i++)
                g_ptr_array_unref(lines[i]);
}

void table_print(const Table *table, bool has_legend) {
        char *titles[TABLE_COLUMNS_MAX];
        size_t widths[TABLE_COLUMNS_MAX];
        bool is_below;

        for (size_t i = 0; i < table->n_columns; i++) {
                titles[i] = charset_reduce(g_strdup(_(table->columns[i].title)));
                widths[i] = table_width(table, i, has_legend ? titles[i] : NULL);
        }
        is_below = fit(table, widths);
        if (has_legend) {
                fputs(style(stdout, STYLE_BOLD), stdout);
                print_row(table, widths, (const char *const *)titles, is_below, true);
                fputs(style(stdout, STYLE_NORMAL), stdout);
        }
        for (size_t row = 0; row < table_n_rows(table); row++)
                print_row(table,
                          widths,
                          (const char *const *)&table->cells->pdata[row * table->n_columns],
                          is_below,
                          false);
        for (size_t i = 0; i < table->n_columns; i++)
                g_free(titles[i]);
}
