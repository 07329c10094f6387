/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parquet column: the values of one column in one group of rows, and the pages that they become */

#include "client/parquet-column.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <zstd.h>

#include "client/thrift-writer.h"
#include "shared/macro.h"

#define ZSTD_LEVEL 1

/* Numbers of the format. */
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DICTIONARY = 8 };

void parquet_column_init(ParquetColumn *column, const char *name, ParquetType type) {
        *column = (ParquetColumn){
                .name = g_utf8_make_valid(name, -1),
                .type = type,
                .present = g_new(uint8_t, PARQUET_GROUP_ROWS_MAX),
                .values = g_new(uint64_t, PARQUET_GROUP_ROWS_MAX),
                .numbers = g_new(uint32_t, PARQUET_GROUP_ROWS_MAX),
                .texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                .dictionary = g_byte_array_new(),
        };
}

void parquet_column_deinit(ParquetColumn *column) {
        g_free(column->name);
        g_free(column->present);
        g_free(column->values);
        g_free(column->numbers);
        g_hash_table_unref(column->texts);
        g_byte_array_unref(column->dictionary);
}

void parquet_column_add_nothing(ParquetColumn *column) {
        column->present[column->n_rows++] = 0;
}

static void add_value(ParquetColumn *column, uint64_t bits) {
        column->values[column->n_present++] = GUINT64_TO_LE(bits);
        column->present[column->n_rows++] = 1;
}

static void put_u32(GByteArray *bytes, uint32_t value) {
        value = GUINT32_TO_LE(value);
        g_byte_array_append(bytes, (const uint8_t *)&value, sizeof(value));
}

/* Numbers a text that is new in the group; readers require valid UTF-8. */
static uint32_t text_add(ParquetColumn *column, const char *text) {
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        size_t n = strlen(valid);
        gpointer number;

        if (!streq(valid, text) &&
            g_hash_table_lookup_extended(column->texts, valid, NULL, &number))
                return GPOINTER_TO_UINT(number);
        put_u32(column->dictionary, (uint32_t)n);
        g_byte_array_append(column->dictionary, (const uint8_t *)valid, (guint)n);
        if (!streq(valid, text))
                g_hash_table_insert(column->texts, TAKE(valid), GUINT_TO_POINTER(column->n_texts));
        return column->n_texts++;
}

/* Neighbours often have the same text. */
static uint32_t text_number(ParquetColumn *column, const char *text) {
        gpointer key, number;

        if (column->last && streq(column->last, text))
                return column->last_number;
        if (!g_hash_table_lookup_extended(column->texts, text, &key, &number)) {
                number = GUINT_TO_POINTER(text_add(column, text));
                key = g_strdup(text);
                g_hash_table_insert(column->texts, key, number);
        }
        column->last = key;
        column->last_number = GPOINTER_TO_UINT(number);
        return column->last_number;
}

static void add_text(ParquetColumn *column, const char *text) {
        column->numbers[column->n_present++] = text_number(column, text);
        column->present[column->n_rows++] = 1;
}

static void add_int64(ParquetColumn *column, int64_t value) {
        column->least = column->n_present ? MIN(column->least, value) : value;
        column->most = column->n_present ? MAX(column->most, value) : value;
        add_value(column, (uint64_t)value);
}

static void add_double(ParquetColumn *column, double value) {
        uint64_t bits;

        memcpy(&bits, &value, sizeof(bits));
        add_value(column, bits);
}

bool parquet_column_add_int64(ParquetColumn *column, int64_t value) {
        char text[32];

        if (column->type == PARQUET_UNKNOWN)
                column->type = PARQUET_INT64;
        if (column->type == PARQUET_INT64)
                add_int64(column, value);
        else if (column->type == PARQUET_DOUBLE)
                add_double(column, (double)value);
        else {
                g_snprintf(text, sizeof(text), "%" G_GINT64_FORMAT, value);
                add_text(column, text);
        }
        return true;
}

/* Whether the number is whole and fits into 64 bits. */
static bool is_int64(double value) {
        return value >= -0x1p63 && value < 0x1p63 && value == floor(value);
}

bool parquet_column_add_double(ParquetColumn *column, double value) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        if (column->type == PARQUET_UNKNOWN)
                column->type = PARQUET_DOUBLE;
        if (column->type == PARQUET_INT64 && !is_int64(value))
                return false;
        if (column->type == PARQUET_INT64)
                add_int64(column, (int64_t)value);
        else if (column->type == PARQUET_DOUBLE)
                add_double(column, value);
        else
                add_text(column, g_ascii_dtostr(text, sizeof(text), value));
        return true;
}

bool parquet_column_add_text(ParquetColumn *column, const char *text) {
        if (column->type == PARQUET_UNKNOWN)
                column->type = PARQUET_TEXT;
        if (column->type == PARQUET_TEXT)
                add_text(column, text);
        return column->type == PARQUET_TEXT;
}

size_t parquet_column_size(const ParquetColumn *column) {
        return column->n_rows + column->n_present * sizeof(uint64_t) +
               2 * (size_t)column->dictionary->len;
}

/*
 * Pages
 */

/* Values of n_bits each, the lowest first, eight of them in n_bits bytes; as one run behind its head. */
static void put_packed(GByteArray *bytes, const uint32_t *values, uint32_t n, unsigned n_bits) {
        uint32_t n_groups = (n + 7) / 8;
        unsigned n_in_word = 0;
        uint64_t word = 0;
        uint8_t *at;

        thrift_varint(bytes, (uint64_t)n_groups << 1 | 1);
        g_byte_array_set_size(bytes, bytes->len + n_groups * n_bits);
        at = bytes->data + bytes->len - n_groups * n_bits;
        for (uint32_t i = 0; i < n_groups * 8; i++) {
                word |= (uint64_t)(i < n ? values[i] : 0) << n_in_word;
                for (n_in_word += n_bits; n_in_word >= 8; n_in_word -= 8, word >>= 8)
                        *at++ = (uint8_t)word;
        }
}

/* Writes which rows have a value: the number of bytes, then one run of ones or a bit for each row. */
static void put_presence(GByteArray *bytes, const ParquetColumn *column, bool is_all) {
        guint start = bytes->len;
        uint32_t n_bytes;

        put_u32(bytes, 0);
        if (is_all) {
                thrift_varint(bytes, (uint64_t)column->n_rows << 1);
                g_byte_array_append(bytes, &(uint8_t){ 1 }, 1);
        } else {
                g_autofree uint32_t *bits = g_new(uint32_t, column->n_rows);

                for (uint32_t i = 0; i < column->n_rows; i++)
                        bits[i] = column->present[i];
                put_packed(bytes, bits, column->n_rows, 1);
        }
        n_bytes = GUINT32_TO_LE(bytes->len - start - sizeof(uint32_t));
        memcpy(bytes->data + start, &n_bytes, sizeof(n_bytes));
}

/* Bits for the numbers of n values; at least one, as some readers require it. */
static unsigned bits_of(uint32_t n) {
        return n > 2 ? (unsigned)g_bit_storage(n - 1) : 1;
}

static void put_values(GByteArray *bytes, const ParquetColumn *column) {
        unsigned n_bits = bits_of(column->n_texts);

        if (column->type != PARQUET_TEXT) {
                g_byte_array_append(bytes,
                                    (const uint8_t *)column->values,
                                    column->n_present * (guint)sizeof(uint64_t));
                return;
        }
        if (column->n_present == 0)
                return;
        g_byte_array_append(bytes, &(uint8_t){ (uint8_t)n_bits }, 1);
        put_packed(bytes, column->numbers, column->n_present, n_bits);
}

/* The head of a page's values, by its type. */
static void put_page_head(ThriftWriter *writer, int type, uint32_t n_values, int encoding) {
        thrift_begin_struct(writer, type == PAGE_DATA ? 5 : 7);
        thrift_put_i32(writer, 1, (int32_t)n_values);
        thrift_put_i32(writer, 2, encoding);
        if (type == PAGE_DATA) {
                thrift_put_i32(writer, 3, ENCODING_RLE);
                thrift_put_i32(writer, 4, ENCODING_RLE);
        }
        thrift_end(writer);
}

static int put_page(GByteArray *bytes,
                    int type,
                    uint32_t n_values,
                    int encoding,
                    const GByteArray *page,
                    ParquetChunk *chunk) {
        size_t bound = ZSTD_compressBound(page->len), n;
        g_autofree uint8_t *packed = g_malloc(bound);
        guint start = bytes->len;
        ThriftWriter writer;

        n = ZSTD_compress(packed, bound, page->data ? page->data : packed, page->len, ZSTD_LEVEL);
        if (ZSTD_isError(n))
                return -ENOMEM;
        thrift_begin(&writer, bytes);
        thrift_put_i32(&writer, 1, type);
        thrift_put_i32(&writer, 2, (int32_t)page->len);
        thrift_put_i32(&writer, 3, (int32_t)n);
        put_page_head(&writer, type, n_values, encoding);
        thrift_end(&writer);
        chunk->n_bytes_plain += bytes->len - start + page->len;
        g_byte_array_append(bytes, packed, (guint)n);
        chunk->n_bytes += bytes->len - start;
        return 0;
}

static void column_begin_group(ParquetColumn *column) {
        g_byte_array_set_size(column->dictionary, 0);
        g_hash_table_remove_all(column->texts);
        column->last = NULL;
        column->n_rows = column->n_present = column->n_texts = 0;
}

int parquet_column_flush(ParquetColumn *column,
                         GByteArray *bytes,
                         uint64_t offset,
                         ParquetChunk *ret) {
        g_autoptr(GByteArray) page = g_byte_array_new();
        bool is_text = column->n_texts > 0;
        guint start = bytes->len;
        int r = 0;

        *ret = (ParquetChunk){ .n_rows = column->n_rows,
                               .n_present = column->n_present,
                               .least = column->least,
                               .most = column->most };
        ret->has_range = column->type == PARQUET_INT64 && ret->n_present > 0;
        if (is_text) {
                ret->dictionary_at = offset;
                r = put_page(bytes,
                             PAGE_DICTIONARY,
                             column->n_texts,
                             ENCODING_PLAIN,
                             column->dictionary,
                             ret);
        }
        put_presence(page, column, ret->n_present == column->n_rows);
        put_values(page, column);
        ret->data_at = offset + (bytes->len - start);
        if (r == 0)
                r = put_page(bytes,
                             PAGE_DATA,
                             column->n_rows,
                             is_text ? ENCODING_DICTIONARY : ENCODING_PLAIN,
                             page,
                             ret);
        column_begin_group(column);
        return r;
}
