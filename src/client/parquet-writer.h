/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Parquet writer: a table in Apache Parquet's format, compressed with zstd
 *
 * Rows go out in groups, so that memory is bounded however long the table is. All columns may have nothing in a row.
 * A column's type may be told, or is that of its first value; one without a value in the whole file is one of integers.
 */

#include <stdio.h>

#include "client/parquet-column.h"

#define PARQUET_GROUP_BYTES_MAX (32u << 20) /* of values in memory */

typedef struct ParquetWriter ParquetWriter;

/* The stream stays the caller's, and the caller checks it for errors. */
ParquetWriter *parquet_writer_new(FILE *stream);
void parquet_writer_free(ParquetWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ParquetWriter, parquet_writer_free)

/* Before the first row. */
void parquet_writer_add_column(ParquetWriter *writer, const char *name, ParquetType type);
/* Returns the column; a value has to be added to it once in each row. */
ParquetColumn *parquet_writer_column(ParquetWriter *writer, size_t i);
/* Ends the row, once all columns have their value. Returns 0, or -ENOMEM. */
int parquet_writer_end_row(ParquetWriter *writer);
/* Writes the remaining rows, and the footer that tells readers where everything is. Returns 0, or -ENOMEM. */
int parquet_writer_finish(ParquetWriter *writer);
