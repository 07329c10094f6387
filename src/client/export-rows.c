/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export rows: the exports' own statements, over a part of the trace */

#include "client/export-rows.h"

#include <errno.h>
#include <inttypes.h>

char *export_range(const Export *export, const char *first, const char *last) {
        if (!export->has_range)
                return g_strdup("");
        return g_strdup_printf(" AND %s <= %" PRId64 " AND %s >= %" PRId64,
                               first,
                               export->end,
                               last,
                               export->start);
}

int export_each(Export *export,
                const char *sql,
                int (*take)(Export *export, sqlite3_stmt *row, void *user_data),
                void *user_data) {
        sqlite3_stmt *statement = NULL;
        int r = query_prepare(export->query, &sql, &statement);

        while (r == 0) {
                r = query_step(export->query, statement);
                if (r == 0)
                        r = take(export, statement, user_data);
        }
        sqlite3_finalize(statement);
        if (r == QUERY_E_DONE)
                r = 0;
        return r == 0 && export->stream && ferror(export->stream) ? EXPORT_E_WRITE : r;
}

char *export_text(sqlite3_stmt *row, int column) {
        const char *text = (const char *)sqlite3_column_text(row, column);

        return text ? g_utf8_make_valid(text, sqlite3_column_bytes(row, column)) : NULL;
}

double export_us(const Export *export, sqlite3_stmt *row, int column) {
        return ((double)sqlite3_column_int64(row, column) - (double)export->zero) / 1000;
}
