/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * JSON stream: one token of a JSON text after another, read as it is needed
 *
 * Browsers' profiles have hundreds of megabytes, of which little is needed, so no tree is built. Anybody may have
 * written the text, so its depth, its strings and its size are bounded. Commas and colons count as blanks: a reader
 * that knows what to expect does not need them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX      64
#define JSON_TEXT_BYTES_MAX 1024 /* longer strings are cut */
#define JSON_BYTES_MAX      (UINT64_C(256) << 20)

typedef enum JsonToken {
        JSON_END, /* the end of the text, or what follows is no JSON */
        JSON_OBJECT,
        JSON_OBJECT_END,
        JSON_ARRAY,
        JSON_ARRAY_END,
        JSON_NAME,
        JSON_TEXT,
        JSON_NUMBER,
        JSON_WORD, /* true, false, null */
} JsonToken;

typedef struct JsonStream {
        FILE *file; /* borrowed */
        uint64_t n_left;
        bool has_ended;
        size_t depth;
        bool is_object[JSON_DEPTH_MAX];
        bool expects_name;
        /* The last token: */
        char text[JSON_TEXT_BYTES_MAX + 1]; /* valid UTF-8, except where it was cut */
        size_t n_text;
        double number;
} JsonStream;

void json_stream_init(JsonStream *stream, FILE *file);

JsonToken json_next(JsonStream *stream);

/* Passes over the rest of the value that begins with the token. */
void json_skip(JsonStream *stream, JsonToken token);
