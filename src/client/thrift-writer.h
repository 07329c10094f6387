/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Thrift writer: structures in Thrift's compact protocol, the encoding of metadata in Parquet files
 *
 * Fields are written in ascending order of their numbers. Elements of a list are written with thrift_number(),
 * thrift_bytes(), or as structures.
 */

#include <glib.h>
#include <stdint.h>

#define THRIFT_DEPTH_MAX 8 /* structures inside of each other */

/* The protocol's numbers for types. */
typedef enum ThriftType {
        THRIFT_I32 = 5,
        THRIFT_I64 = 6,
        THRIFT_BINARY = 8,
        THRIFT_LIST = 9,
        THRIFT_STRUCT = 12,
} ThriftType;

typedef struct ThriftWriter {
        GByteArray *bytes;
        int last[THRIFT_DEPTH_MAX]; /* the number of the last field, by depth */
        unsigned depth;
} ThriftWriter;

/* Begins an outermost structure. `bytes` stays the caller's. */
void thrift_begin(ThriftWriter *writer, GByteArray *bytes);
/* Ends the innermost structure. */
void thrift_end(ThriftWriter *writer);

void thrift_put_i32(ThriftWriter *writer, int field, int32_t value);
void thrift_put_i64(ThriftWriter *writer, int field, int64_t value);
void thrift_put_bytes(ThriftWriter *writer, int field, const void *data, size_t n);
void thrift_put_text(ThriftWriter *writer, int field, const char *text);
void thrift_begin_struct(ThriftWriter *writer, int field);
/* Begins a list; n elements follow. */
void thrift_put_list(ThriftWriter *writer, int field, ThriftType type, size_t n);

void thrift_element_number(ThriftWriter *writer, int64_t value);
void thrift_element_text(ThriftWriter *writer, const char *text);
void thrift_element_struct(ThriftWriter *writer);

/* Writes a number in groups of seven bits, the lowest group first. */
void thrift_varint(GByteArray *bytes, uint64_t value);
