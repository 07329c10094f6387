/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Thrift writer: structures in Thrift's compact protocol, the encoding of metadata in Parquet files */

#include "client/thrift-writer.h"

#include <string.h>

#include "wire/wire-writer.h"

#define SHORT_LIST_MAX 14 /* elements whose number fits beside the type */

void thrift_varint(GByteArray *bytes, uint64_t value) {
        uint8_t encoded[WIRE_VARINT_MAX];

        g_byte_array_append(bytes, encoded, (guint)(wire_encode_varint(encoded, value) - encoded));
}

static void put_byte(ThriftWriter *writer, unsigned value) {
        g_byte_array_append(writer->bytes, &(uint8_t){ (uint8_t)value }, 1);
}

static void put_zigzag(ThriftWriter *writer, int64_t value) {
        thrift_varint(writer->bytes, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

/* The numbers of fields are written as the distance from the previous one, which is below 16 in everything that we
 * write. */
static void put_field(ThriftWriter *writer, int field, ThriftType type) {
        int *last = &writer->last[writer->depth];

        g_assert(field > *last && field - *last < 16);
        put_byte(writer, (unsigned)(field - *last) << 4 | type);
        *last = field;
}

void thrift_begin(ThriftWriter *writer, GByteArray *bytes) {
        *writer = (ThriftWriter){ .bytes = bytes };
}

void thrift_end(ThriftWriter *writer) {
        put_byte(writer, 0);
        if (writer->depth > 0)
                writer->depth--;
}

static void put_data(ThriftWriter *writer, const void *data, size_t n) {
        thrift_varint(writer->bytes, n);
        g_byte_array_append(writer->bytes, data, (guint)n);
}

void thrift_put_i32(ThriftWriter *writer, int field, int32_t value) {
        put_field(writer, field, THRIFT_I32);
        put_zigzag(writer, value);
}

void thrift_put_i64(ThriftWriter *writer, int field, int64_t value) {
        put_field(writer, field, THRIFT_I64);
        put_zigzag(writer, value);
}

void thrift_put_bytes(ThriftWriter *writer, int field, const void *data, size_t n) {
        put_field(writer, field, THRIFT_BINARY);
        put_data(writer, data, n);
}

void thrift_put_text(ThriftWriter *writer, int field, const char *text) {
        thrift_put_bytes(writer, field, text, strlen(text));
}

void thrift_element_struct(ThriftWriter *writer) {
        g_assert(writer->depth + 1 < THRIFT_DEPTH_MAX);
        writer->last[++writer->depth] = 0;
}

void thrift_begin_struct(ThriftWriter *writer, int field) {
        put_field(writer, field, THRIFT_STRUCT);
        thrift_element_struct(writer);
}

void thrift_put_list(ThriftWriter *writer, int field, ThriftType type, size_t n) {
        put_field(writer, field, THRIFT_LIST);
        if (n <= SHORT_LIST_MAX) {
                put_byte(writer, (unsigned)n << 4 | type);
                return;
        }
        put_byte(writer, 0xf0u | type);
        thrift_varint(writer->bytes, n);
}

void thrift_element_number(ThriftWriter *writer, int64_t value) {
        put_zigzag(writer, value);
}

void thrift_element_text(ThriftWriter *writer, const char *text) {
        put_data(writer, text, strlen(text));
}
