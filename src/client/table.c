/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib/gi18n.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/charset.h"
#include "client/say.h"
#include "client/table.h"

#define TABLE_LAST_WIDTH_MIN 24 /* of the last column; narrower, and it goes below */
#define TABLE_INDENTATION    4
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

/* 0: what is no terminal has lines of any length. */
static size_t terminal_width(void) {
        struct winsize size;

        return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col
                                                                                     : 0;
}

/* The words of a long text, on lines of so many columns behind an indentation; a longer word has a line for itself. */
static void print_wrapped(const char *text, size_t indentation, size_t width) {
        g_auto(GStrv) words = g_strsplit(text, " ", -1);
        size_t n_used = 0;

        for (char **word = words; *word; word++) {
                size_t n_word = charset_width(*word);

                if (n_used > 0 && n_used + 1 + n_word > width) {
                        printf("\n%*s", (int)indentation, "");
                        n_used = 0;
                }
                printf("%s%s", n_used > 0 ? " " : "", *word);
                n_used += n_word + (n_used > 0);
        }
}

/* On a terminal the last column is as wide as is left; when that is too little, it goes on below, and what says nothing
 * is left out. */
static void print_last_cell(const char *text, size_t column_at, bool says_something) {
        size_t terminal = terminal_width();

        if (terminal <= TABLE_INDENTATION || column_at + charset_width(text) <= terminal) {
                fputs(text, stdout);
        } else if (column_at + TABLE_LAST_WIDTH_MIN <= terminal) {
                print_wrapped(text, column_at, terminal - column_at);
        } else if (says_something) {
                printf("\n%*s", TABLE_INDENTATION, "");
                print_wrapped(text, TABLE_INDENTATION, terminal - TABLE_INDENTATION);
        }
        fputs("\n", stdout);
}

static void print_cell(const TableColumn *column, const char *text, size_t width) {
        size_t n_padding = width - charset_width(text);

        if (column->is_number)
                printf("%*s%s  ", (int)n_padding, "", text);
        else
                printf("%s%*s  ", text, (int)n_padding, "");
}

static void
print_row(const Table *table, const size_t *widths, const char *const *cells, bool is_legend) {
        const size_t n_first = table->n_columns - 1;
        size_t column_at = 0;

        for (size_t i = 0; i < n_first; i++) {
                print_cell(&table->columns[i], cells[i], widths[i]);
                column_at += widths[i] + 2;
        }
        if (table->columns[n_first].is_number)
                printf("%*s", (int)(widths[n_first] - charset_width(cells[n_first])), "");
        print_last_cell(cells[n_first], column_at, !is_legend && !streq(cells[n_first], NOTHING));
}

void table_print(const Table *table, bool has_legend) {
        char *titles[TABLE_COLUMNS_MAX];
        size_t widths[TABLE_COLUMNS_MAX];

        for (size_t i = 0; i < table->n_columns; i++) {
                titles[i] = charset_reduce(g_strdup(_(table->columns[i].title)));
                widths[i] = table_width(table, i, has_legend ? titles[i] : NULL);
        }
        if (has_legend) {
                fputs(style(stdout, STYLE_BOLD), stdout);
                print_row(table, widths, (const char *const *)titles, true);
                fputs(style(stdout, STYLE_NORMAL), stdout);
        }
        for (size_t row = 0; row < table_n_rows(table); row++)
                print_row(table,
                          widths,
                          (const char *const *)&table->cells->pdata[row * table->n_columns],
                          false);
        for (size_t i = 0; i < table->n_columns; i++)
                g_free(titles[i]);
}
