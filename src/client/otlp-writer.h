/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * OTLP writer: messages of OpenTelemetry's protocol, as JSON or in protobuf's form
 *
 * Both have the same messages with the same names. Values that are texts in JSON only because JSON has nothing better
 * (ids in hexadecimal digits, numbers of 64 bits) are bytes or numbers in protobuf.
 */

#include <stdio.h>

#include "client/json-writer.h"
#include "wire/wire-writer.h"

#define OTLP_DEPTH_MAX 16

typedef struct OtlpWriter {
        JsonWriter json;
        bool is_binary;
        GByteArray *bytes;
        WireWriter wire;
        struct {
                int message;
                uint32_t number; /* the field number of an array's elements; 0: an object */
                size_t begin;
        } open[OTLP_DEPTH_MAX];
        size_t n_open;
} OtlpWriter;

void otlp_writer_init(OtlpWriter *writer, bool is_binary);
void otlp_writer_deinit(OtlpWriter *writer);
/* Returns a line of JSON, or the bytes of the message. The bytes of several messages, put behind each other, are one
 * message with all of their contents. */
void otlp_writer_print(const OtlpWriter *writer, FILE *stream);

/* Keys are the names in JSON; NULL within an array. */
void otlp_begin_object(OtlpWriter *writer, const char *key);
void otlp_end_object(OtlpWriter *writer);
void otlp_begin_array(OtlpWriter *writer, const char *key);
void otlp_end_array(OtlpWriter *writer);
void otlp_string(OtlpWriter *writer, const char *key, const char *value);
void otlp_uint(OtlpWriter *writer, const char *key, uint64_t value);
void otlp_bool(OtlpWriter *writer, const char *key, bool value);
void otlp_double(OtlpWriter *writer, const char *key, double value);
/* A number of 64 bits, and an id in hexadecimal digits. */
void otlp_int64(OtlpWriter *writer, const char *key, int64_t value);
void otlp_id(OtlpWriter *writer, const char *key, const char *digits);
