/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* JSON writer: data for programs */

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "client/charset.h"
#include "client/json-writer.h"

int json_mode_parse(JsonMode *ret, const char *text) {
        static const char *const names[] = {
                [JSON_OFF] = "off",
                [JSON_SHORT] = "short",
                [JSON_PRETTY] = "pretty",
        };

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (streq(names[i], text)) {
                        *ret = (JsonMode)i;
                        return 0;
                }
        return -EINVAL;
}

void json_writer_init(JsonWriter *writer, JsonMode mode) {
        *writer = (JsonWriter){ .text = g_string_new(NULL), .mode = mode };
}

void json_writer_deinit(JsonWriter *writer) {
        if (writer->text)
                g_string_free(writer->text, TRUE);
        writer->text = NULL;
}

static void json_newline(JsonWriter *writer) {
        if (writer->mode != JSON_PRETTY)
                return;
        g_string_append_c(writer->text, '\n');
        for (unsigned i = 0; i < writer->depth; i++)
                g_string_append(writer->text, "  ");
}

static void json_escape(JsonWriter *writer, gunichar c) {
        if (c < 0x10000)
                g_string_append_printf(writer->text, "\\u%04x", c);
        else
                g_string_append_printf(writer->text,
                                       "\\u%04x\\u%04x",
                                       0xd800 + ((c - 0x10000) >> 10),
                                       0xdc00 + ((c - 0x10000) & 0x3ff));
}

/* RFC 8259, section 7. Where the locale's charset is not UTF-8, the JSON is ASCII, and nothing is lost. */
static void json_quote(JsonWriter *writer, const char *value) {
        const bool is_ascii = !charset_is_utf8();

        g_string_append_c(writer->text, '"');
        for (; *value; value++) {
                if (is_ascii && (unsigned char)*value >= 0x80) {
                        json_escape(writer, g_utf8_get_char(value));
                        value = g_utf8_next_char(value) - 1;
                } else if (*value == '"' || *value == '\\')
                        g_string_append_printf(writer->text, "\\%c", *value);
                else if ((unsigned char)*value < 0x20)
                        g_string_append_printf(writer->text, "\\u%04x", (unsigned char)*value);
                else
                        g_string_append_c(writer->text, *value);
        }
        g_string_append_c(writer->text, '"');
}

static void json_key(JsonWriter *writer, const char *key) {
        if (writer->has_items)
                g_string_append_c(writer->text, ',');
        if (writer->depth > 0)
                json_newline(writer);
        writer->has_items = true;
        if (!key)
                return;
        json_quote(writer, key);
        g_string_append(writer->text, writer->mode == JSON_PRETTY ? ": " : ":");
}

static void json_begin(JsonWriter *writer, const char *key, char bracket) {
        json_key(writer, key);
        g_string_append_c(writer->text, bracket);
        writer->depth++;
        writer->has_items = false;
}

static void json_end(JsonWriter *writer, char bracket) {
        writer->depth--;
        if (writer->has_items)
                json_newline(writer);
        g_string_append_c(writer->text, bracket);
        writer->has_items = true;
}

void json_begin_object(JsonWriter *writer, const char *key) {
        json_begin(writer, key, '{');
}

void json_end_object(JsonWriter *writer) {
        json_end(writer, '}');
}

void json_begin_array(JsonWriter *writer, const char *key) {
        json_begin(writer, key, '[');
}

void json_end_array(JsonWriter *writer) {
        json_end(writer, ']');
}

void json_string(JsonWriter *writer, const char *key, const char *value) {
        json_key(writer, key);
        if (value)
                json_quote(writer, value);
        else
                g_string_append(writer->text, "null");
}

void json_uint(JsonWriter *writer, const char *key, uint64_t value) {
        json_key(writer, key);
        g_string_append_printf(writer->text, "%" PRIu64, value);
}

void json_int(JsonWriter *writer, const char *key, int64_t value) {
        json_key(writer, key);
        g_string_append_printf(writer->text, "%" PRIi64, value);
}

void json_bool(JsonWriter *writer, const char *key, bool value) {
        json_key(writer, key);
        g_string_append(writer->text, value ? "true" : "false");
}

void json_double(JsonWriter *writer, const char *key, double value) {
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        json_key(writer, key);
        if (isfinite(value)) /* not printf(), which writes the locale's comma */
                g_string_append(writer->text, g_ascii_dtostr(text, sizeof(text), value));
        else
                g_string_append(writer->text, "null");
}

void json_writer_print(const JsonWriter *writer) {
        puts(writer->text->str);
}
