/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * JSON writer: data for programs
 *
 * Values go into objects with a key, and into arrays and the top level with NULL. Strings must be
 * UTF-8.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/macro.h"

typedef enum JsonMode {
        JSON_OFF,
        JSON_SHORT,  /* one line */
        JSON_PRETTY, /* for people */
} JsonMode;

typedef struct JsonWriter {
        GString *text;
        JsonMode mode;
        unsigned depth;
        bool has_items; /* in the innermost object or array */
} JsonWriter;

/* "off", "short", "pretty"; -EINVAL. */
int json_mode_parse(JsonMode *ret, const char *text);

void json_writer_init(JsonWriter *writer, JsonMode mode);
void json_writer_deinit(JsonWriter *writer);

void json_begin_object(JsonWriter *writer, const char *key);
void json_end_object(JsonWriter *writer);
void json_begin_array(JsonWriter *writer, const char *key);
void json_end_array(JsonWriter *writer);
void json_string(JsonWriter *writer, const char *key, const char *value); /* NULL: null */
void json_uint(JsonWriter *writer, const char *key, uint64_t value);
void json_int(JsonWriter *writer, const char *key, int64_t value);
void json_bool(JsonWriter *writer, const char *key, bool value);
void json_double(JsonWriter *writer, const char *key, double value); /* not finite: null */

/* To stdout, with a newline. */
void json_writer_print(const JsonWriter *writer);
