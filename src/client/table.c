/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <glib/gi18n.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/say.h"
#include "client/table.h"

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
                        cell && *cell ? say_clean(cell, strlen(cell)) : g_strdup("-"));
}

void table_add_format(Table *table, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        g_ptr_array_add(table->cells, g_strdup_vprintf(format, arguments));
        va_end(arguments);
}

size_t table_n_rows(const Table *table) {
        return table->cells->len / table->n_columns;
}

static const char *table_cell(const Table *table, size_t row, size_t column) {
        return g_ptr_array_index(table->cells, row * table->n_columns + column);
}

static size_t text_width(const char *text) {
        size_t width = 0;

        for (; *text; text = g_utf8_next_char(text)) {
                gunichar c = g_utf8_get_char(text);

                width += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
        }
        return width;
}

static size_t table_width(const Table *table, size_t column, bool has_legend) {
        size_t width = has_legend ? text_width(_(table->columns[column].title)) : 0;

        for (size_t row = 0; row < table_n_rows(table); row++)
                width = MAX(width, text_width(table_cell(table, row, column)));
        return width;
}

static void print_cell(const Table *table, size_t column, const char *text, size_t width) {
        size_t n_padding = width - text_width(text);
        bool is_last = column + 1 == table->n_columns;

        if (table->columns[column].is_number)
                printf("%*s%s", (int)n_padding, "", text);
        else if (is_last)
                fputs(text, stdout);
        else
                printf("%s%*s", text, (int)n_padding, "");
        fputs(is_last ? "\n" : "  ", stdout);
}

void table_print(const Table *table, bool has_legend) {
        size_t widths[TABLE_COLUMNS_MAX];

        for (size_t i = 0; i < table->n_columns; i++)
                widths[i] = table_width(table, i, has_legend);
        if (has_legend) {
                fputs(style(stdout, STYLE_BOLD), stdout);
                for (size_t i = 0; i < table->n_columns; i++)
                        print_cell(table, i, _(table->columns[i].title), widths[i]);
                fputs(style(stdout, STYLE_NORMAL), stdout);
        }
        for (size_t row = 0; row < table_n_rows(table); row++)
                for (size_t i = 0; i < table->n_columns; i++)
                        print_cell(table, i, table_cell(table, row, i), widths[i]);
}
