/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Table: rows of text in columns, on stdout
 *
 * On a terminal, no row is wider than the terminal: long cells are wrapped, and the last column is printed below the
 * others if there is too little room for it. Otherwise each row is one line.
 */

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "shared/macro.h"

#define TABLE_COLUMNS_MAX 12

typedef struct TableColumn {
        const char *title; /* untranslated */
        bool is_number;    /* right-aligned */
} TableColumn;

typedef struct Table {
        const TableColumn *columns;
        size_t n_columns;
        GPtrArray *cells; /* row by row; owned */
} Table;

void table_init(Table *table, const TableColumn *columns, size_t n_columns);
void table_deinit(Table *table);

/* Adds a copy of the text as the next cell; NULL shows as "-". A row is complete after n_columns cells. */
void table_add(Table *table, const char *cell);
void table_add_format(Table *table, const char *format, ...) _printf_(2, 3);

size_t table_n_rows(const Table *table);
void table_print(const Table *table, bool has_legend);
