/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Allocates and frees the objects of virtual tables. */

#include "query/query-vtab-base.h"

#include <string.h>

static void *allocate(size_t n_bytes) {
        void *memory = sqlite3_malloc64(n_bytes);

        return memory ? memset(memory, 0, n_bytes) : NULL;
}

int query_vtab_new(sqlite3_vtab **ret, sqlite3 *db, size_t n_bytes) {
        int r = sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);

        if (r != SQLITE_OK)
                return r;
        *ret = allocate(n_bytes);
        return *ret ? SQLITE_OK : SQLITE_NOMEM;
}

int query_vtab_disconnect(sqlite3_vtab *base) {
        sqlite3_free(base);
        return SQLITE_OK;
}

int query_cursor_new(sqlite3_vtab_cursor **ret, size_t n_bytes) {
        *ret = allocate(n_bytes);
        return *ret ? SQLITE_OK : SQLITE_NOMEM;
}

int query_cursor_close(sqlite3_vtab_cursor *base) {
        sqlite3_free(base);
        return SQLITE_OK;
}
