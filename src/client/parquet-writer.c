/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parquet writer: a table in Apache Parquet's format, compressed with zstd */

#include "client/parquet-writer.h"

#include <string.h>

#include "build-config.h"
#include "client/thrift-writer.h"

static const char magic[4] = "PAR1";

/* Numbers of the format. */
enum { FORMAT_VERSION = 2, IS_OPTIONAL = 1, CONVERTED_UTF8 = 0, CODEC_ZSTD = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DICTIONARY = 8 };

typedef struct Group {
        ParquetChunk *chunks; /* by column */
        uint32_t n_rows;
} Group;

struct ParquetWriter {
        FILE *stream;
        GArray *columns; /* ParquetColumn */
        GArray *groups;  /* Group */
        uint64_t offset; /* in the file */
        uint64_t n_rows; /* in groups that are written */
        uint32_t n_in_group;
};

static void clear_group(void *group) {
        g_free(((Group *)group)->chunks);
}

static void clear_column(void *column) {
        parquet_column_deinit(column);
}

static void write_bytes(ParquetWriter *writer, const void *data, size_t n) {
        writer->offset += fwrite(data, 1, n, writer->stream);
}

ParquetWriter *parquet_writer_new(FILE *stream) {
        ParquetWriter *writer = g_new0(ParquetWriter, 1);

        writer->stream = stream;
        writer->columns = g_array_new(FALSE, FALSE, sizeof(ParquetColumn));
        writer->groups = g_array_new(FALSE, FALSE, sizeof(Group));
        g_array_set_clear_func(writer->columns, clear_column);
        g_array_set_clear_func(writer->groups, clear_group);
        write_bytes(writer, magic, sizeof(magic));
        return writer;
}

void parquet_writer_free(ParquetWriter *writer) {
        if (!writer)
                return;
        g_array_unref(writer->columns);
        g_array_unref(writer->groups);
        g_free(writer);
}

void parquet_writer_add_column(ParquetWriter *writer, const char *name, ParquetType type) {
        ParquetColumn column;

        parquet_column_init(&column, name, type);
        g_array_append_val(writer->columns, column);
}

ParquetColumn *parquet_writer_column(ParquetWriter *writer, size_t i) {
        return &g_array_index(writer->columns, ParquetColumn, i);
}

/* Each column is written on its own, so that the compressed data is never in memory as a whole. */
static int flush_group(ParquetWriter *writer) {
        Group group = { .chunks = g_new0(ParquetChunk, writer->columns->len),
                        .n_rows = writer->n_in_group };
        int r = 0;

        for (guint i = 0; r == 0 && i < writer->columns->len; i++) {
                g_autoptr(GByteArray) bytes = g_byte_array_new();

                r = parquet_column_flush(
                        parquet_writer_column(writer, i), bytes, writer->offset, &group.chunks[i]);
                write_bytes(writer, bytes->data, bytes->len);
        }
        g_array_append_val(writer->groups, group);
        writer->n_rows += group.n_rows;
        writer->n_in_group = 0;
        return r;
}

static size_t group_size(ParquetWriter *writer) {
        size_t n = 0;

        for (guint i = 0; i < writer->columns->len; i++)
                n += parquet_column_size(parquet_writer_column(writer, i));
        return n;
}

int parquet_writer_end_row(ParquetWriter *writer) {
        writer->n_in_group++;
        if (writer->n_in_group < PARQUET_GROUP_ROWS_MAX &&
            (writer->n_in_group % 64 || group_size(writer) < PARQUET_GROUP_BYTES_MAX))
                return 0;
        return flush_group(writer);
}

/*
 * Metadata
 */

static ParquetType type_of(ParquetWriter *writer, guint column) {
        ParquetType type = parquet_writer_column(writer, column)->type;

        return type == PARQUET_UNKNOWN ? PARQUET_INT64 : type;
}

static void put_schema(ThriftWriter *thrift, ParquetWriter *writer) {
        thrift_put_list(thrift, 2, THRIFT_STRUCT, writer->columns->len + 1);
        thrift_element_struct(thrift);
        thrift_put_text(thrift, 4, "schema");
        thrift_put_i32(thrift, 5, (int32_t)writer->columns->len);
        thrift_end(thrift);
        for (guint i = 0; i < writer->columns->len; i++) {
                thrift_element_struct(thrift);
                thrift_put_i32(thrift, 1, (int32_t)type_of(writer, i));
                thrift_put_i32(thrift, 3, IS_OPTIONAL);
                thrift_put_text(thrift, 4, parquet_writer_column(writer, i)->name);
                if (type_of(writer, i) == PARQUET_TEXT)
                        thrift_put_i32(thrift, 6, CONVERTED_UTF8);
                thrift_end(thrift);
        }
}

/* The range of values, by which readers skip groups that have none of the values they look for. */
static void put_statistics(ThriftWriter *thrift, const ParquetChunk *chunk) {
        uint64_t most = GUINT64_TO_LE((uint64_t)chunk->most),
                 least = GUINT64_TO_LE((uint64_t)chunk->least);

        thrift_begin_struct(thrift, 12);
        thrift_put_i64(thrift, 3, chunk->n_rows - chunk->n_present);
        if (chunk->has_range) {
                thrift_put_bytes(thrift, 5, &most, sizeof(most));
                thrift_put_bytes(thrift, 6, &least, sizeof(least));
        }
        thrift_end(thrift);
}

static void put_encodings(ThriftWriter *thrift, bool is_text) {
        thrift_put_list(thrift, 2, THRIFT_I32, is_text ? 3 : 2);
        thrift_element_number(thrift, ENCODING_PLAIN);
        thrift_element_number(thrift, ENCODING_RLE);
        if (is_text)
                thrift_element_number(thrift, ENCODING_DICTIONARY);
}

static void
put_chunk(ThriftWriter *thrift, ParquetWriter *writer, guint i, const ParquetChunk *chunk) {
        ParquetType type = type_of(writer, i);

        thrift_element_struct(thrift);
        thrift_put_i64(
                thrift, 2, (int64_t)(chunk->dictionary_at ? chunk->dictionary_at : chunk->data_at));
        thrift_begin_struct(thrift, 3);
        thrift_put_i32(thrift, 1, (int32_t)type);
        put_encodings(thrift, chunk->dictionary_at > 0);
        thrift_put_list(thrift, 3, THRIFT_BINARY, 1);
        thrift_element_text(thrift, parquet_writer_column(writer, i)->name);
        thrift_put_i32(thrift, 4, CODEC_ZSTD);
        thrift_put_i64(thrift, 5, chunk->n_rows);
        thrift_put_i64(thrift, 6, (int64_t)chunk->n_bytes_plain);
        thrift_put_i64(thrift, 7, (int64_t)chunk->n_bytes);
        thrift_put_i64(thrift, 9, (int64_t)chunk->data_at);
        if (chunk->dictionary_at)
                thrift_put_i64(thrift, 11, (int64_t)chunk->dictionary_at);
        put_statistics(thrift, chunk);
        thrift_end(thrift);
        thrift_end(thrift);
}

static void put_groups(ThriftWriter *thrift, ParquetWriter *writer) {
        thrift_put_list(thrift, 4, THRIFT_STRUCT, writer->groups->len);
        for (guint g = 0; g < writer->groups->len; g++) {
                const Group *group = &g_array_index(writer->groups, Group, g);
                uint64_t n_bytes = 0;

                thrift_element_struct(thrift);
                thrift_put_list(thrift, 1, THRIFT_STRUCT, writer->columns->len);
                for (guint i = 0; i < writer->columns->len; i++) {
                        put_chunk(thrift, writer, i, &group->chunks[i]);
                        n_bytes += group->chunks[i].n_bytes_plain;
                }
                thrift_put_i64(thrift, 2, (int64_t)n_bytes);
                thrift_put_i64(thrift, 3, group->n_rows);
                thrift_end(thrift);
        }
}

/* States the usual order for all columns; without it the ranges of values mean nothing. */
static void put_orders(ThriftWriter *thrift, const ParquetWriter *writer) {
        thrift_put_list(thrift, 7, THRIFT_STRUCT, writer->columns->len);
        for (guint i = 0; i < writer->columns->len; i++) {
                thrift_element_struct(thrift);
                thrift_begin_struct(thrift, 1);
                thrift_end(thrift);
                thrift_end(thrift);
        }
}

int parquet_writer_finish(ParquetWriter *writer) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        ThriftWriter thrift;
        uint32_t n_bytes;
        int r = writer->n_in_group ? flush_group(writer) : 0;

        if (r)
                return r;
        thrift_begin(&thrift, bytes);
        thrift_put_i32(&thrift, 1, FORMAT_VERSION);
        put_schema(&thrift, writer);
        thrift_put_i64(&thrift, 3, (int64_t)writer->n_rows);
        put_groups(&thrift, writer);
        thrift_put_text(&thrift, 6, "desktrace version " DESKTRACE_VERSION);
        put_orders(&thrift, writer);
        thrift_end(&thrift);
        n_bytes = GUINT32_TO_LE(bytes->len);
        write_bytes(writer, bytes->data, bytes->len);
        write_bytes(writer, &n_bytes, sizeof(n_bytes));
        write_bytes(writer, magic, sizeof(magic));
        return 0;
}
