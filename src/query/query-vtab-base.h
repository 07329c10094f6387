/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What all virtual tables have in common: their objects and cursors, each with SQLite's own struct at its beginning
 */

#include <sqlite3.h>
#include <stddef.h>

/* Allocates n_bytes, zeroed, for a declared table, which views and triggers may then use. An SQLITE_ outcome. */
int query_vtab_new(sqlite3_vtab **ret, sqlite3 *db, size_t n_bytes);
int query_vtab_disconnect(sqlite3_vtab *base);

/* Likewise. */
int query_cursor_new(sqlite3_vtab_cursor **ret, size_t n_bytes);
int query_cursor_close(sqlite3_vtab_cursor *base);
