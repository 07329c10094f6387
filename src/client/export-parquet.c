/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export Parquet: rows as a file of columns, for engines that read many of them */

#include "client/export-parquet.h"

#include <errno.h>
#include <string.h>

#include "client/export-rows.h"
#include "client/export-tables.h"
#include "client/parquet-writer.h"
#include "shared/macro.h"

/* Column types as a table declares them, so that all of its files agree, whatever is in them. */
static ParquetType declared_type(sqlite3_stmt *row, int column) {
        const char *type = sqlite3_column_decltype(row, column);

        if (!type)
                return PARQUET_UNKNOWN;
        return streq(type, "TEXT")   ? PARQUET_TEXT
               : streq(type, "REAL") ? PARQUET_DOUBLE
                                     : PARQUET_INT64;
}

/* A zero byte would end the text. */
static bool put_text(ParquetColumn *column, sqlite3_stmt *row, int i) {
        const char *text = (const char *)sqlite3_column_text(row, i);
        g_autofree char *whole = NULL;

        if (text && strlen(text) != (size_t)sqlite3_column_bytes(row, i))
                text = whole = export_text(row, i);
        return parquet_column_add_text(column, text ? text : "");
}

/* Asks SQLite for the column's value once, as each of its column functions examines the whole statement. */
static bool put_value(ParquetColumn *column, sqlite3_stmt *row, int i) {
        sqlite3_value *value = sqlite3_column_value(row, i);

        switch (sqlite3_value_type(value)) {
        case SQLITE_NULL:
                parquet_column_add_nothing(column);
                return true;
        case SQLITE_INTEGER:
                return parquet_column_add_int64(column, sqlite3_value_int64(value));
        case SQLITE_FLOAT:
                return parquet_column_add_double(column, sqlite3_value_double(value));
        default:
                return put_text(column, row, i);
        }
}

int export_parquet_take(Export *export, sqlite3_stmt *row, void *user_data) {
        const int n_columns = sqlite3_column_count(row);
        ParquetWriter *writer = user_data;

        for (int i = 0; i < n_columns; i++)
                if (!put_value(parquet_writer_column(writer, (size_t)i), row, i)) {
                        g_free(export->column);
                        export->column = g_strdup(sqlite3_column_name(row, i));
                        return EXPORT_E_MIXED;
                }
        export->n_rows++;
        return parquet_writer_end_row(writer);
}

/* The file has its columns even if there is no row. */
static int add_columns(Export *export, ParquetWriter *writer, const char *sql) {
        sqlite3_stmt *statement = NULL;
        int r = query_prepare(export->query, &sql, &statement);

        for (int i = 0; r == 0 && i < sqlite3_column_count(statement); i++)
                parquet_writer_add_column(
                        writer, sqlite3_column_name(statement, i), declared_type(statement, i));
        sqlite3_finalize(statement);
        return r;
}

static int export_rows(Export *export, const char *sql) {
        g_autoptr(ParquetWriter) writer = parquet_writer_new(export->stream);
        int r = add_columns(export, writer, sql);

        if (r == 0)
                r = export_each(export, sql, export_parquet_take, writer);
        if (r == 0)
                r = parquet_writer_finish(writer);
        return r == 0 && ferror(export->stream) ? EXPORT_E_WRITE : r;
}

int export_parquet(Export *export) {
        g_autofree char *sql = export_select(export);

        return export_rows(export, sql);
}
