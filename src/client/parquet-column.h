/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Parquet column: the values of one column in one group of rows, and the pages that they become
 *
 * Numbers are written as they are, texts once each with numbers that refer to them. Any value may be nothing. The type
 * of a column is that of its first value; until there is one it is not known, and pages of nothing suit every type.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define PARQUET_GROUP_ROWS_MAX (128u << 10)

/* Parquet's numbers for types. */
typedef enum ParquetType {
        PARQUET_UNKNOWN = -1,
        PARQUET_INT64 = 2,
        PARQUET_DOUBLE = 5,
        PARQUET_TEXT = 6,
} ParquetType;

typedef struct ParquetColumn {
        char *name;
        ParquetType type;
        /* Of this group. Room for all its rows is there from the beginning, as untouched memory costs nothing. */
        uint8_t *present;  /* for each row */
        uint64_t *values;  /* of numbers, in the file's byte order */
        uint32_t *numbers; /* of texts */
        uint32_t n_rows, n_present;
        GHashTable *texts; /* text → its number */
        const char *last;  /* the previous value's text, which is a key of `texts`; or NULL */
        uint32_t last_number;
        GByteArray *dictionary;
        uint32_t n_texts;
        int64_t least, most; /* of int64_t */
} ParquetColumn;

/* Where the pages of a column are, and what they have. */
typedef struct ParquetChunk {
        uint64_t dictionary_at, data_at; /* dictionary_at 0: there is none */
        uint64_t n_bytes, n_bytes_plain; /* of all pages, with their heads */
        uint32_t n_rows, n_present;
        bool has_range;
        int64_t least, most;
} ParquetChunk;

void parquet_column_init(ParquetColumn *column, const char *name, ParquetType type);
void parquet_column_deinit(ParquetColumn *column);

/* Call one of these for each row. False: the column has another type, which cannot represent the value. */
void parquet_column_add_nothing(ParquetColumn *column);
bool parquet_column_add_int64(ParquetColumn *column, int64_t value);
bool parquet_column_add_double(ParquetColumn *column, double value);
bool parquet_column_add_text(ParquetColumn *column,
                             const char *text); /* in the file it is valid UTF-8 */

/* Bytes that its values take in memory, about. */
size_t parquet_column_size(const ParquetColumn *column);

/* Appends the pages, which will be at `offset` of the file, and begins a new group. Returns 0, or -ENOMEM. */
int parquet_column_flush(ParquetColumn *column,
                         GByteArray *bytes,
                         uint64_t offset,
                         ParquetChunk *ret);
