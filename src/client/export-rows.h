/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export rows: the exports' own statements, over a part of the trace
 */

#include "client/export.h"

/* " AND …" that keeps the rows in the range; `last` is SQL for the end of a row. Malloc'ed. */
char *export_range(const Export *export, const char *first, const char *last);

/* Calls `take` with each row until it returns something other than 0, which is returned then. Returns 0, an outcome,
 * or an errno. */
int export_each(Export *export,
                const char *sql,
                int (*take)(Export *export, sqlite3_stmt *row, void *user_data),
                void *user_data);

/* A text column as valid UTF-8; NULL for NULL. Malloc'ed. */
char *export_text(sqlite3_stmt *row, int column);

/* Microseconds since the beginning of the trace, from a column of nanoseconds. */
double export_us(const Export *export, sqlite3_stmt *row, int column);
