/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * JSON stream: one token of a JSON text after another, read as it is needed
 *
 * Profiles of browsers have hundreds of megabytes, of which little is wanted, so no tree is made of them. What wrote
 * the text may be anybody: depth, texts and the whole are bounded. Commas and colons are taken for blanks, as a reader
 * who knows what to look for needs them no more than these.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX      64
#define JSON_TEXT_BYTES_MAX 1024 /* what is longer is cut */
#define JSON_BYTES_MAX      (UINT64_C(256) << 20)

typedef enum JsonToken {
        JSON_END, /* of the text, or what follows is no JSON */
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
        /* Of the last token: */
        char text[JSON_TEXT_BYTES_MAX + 1]; /* valid UTF-8 but for where it was cut */
        size_t n_text;
        double number;
} JsonStream;

void json_stream_init(JsonStream *stream, FILE *file);

JsonToken json_next(JsonStream *stream);

/* Passes over the rest of the value that begins with the token. */
void json_skip(JsonStream *stream, JsonToken token);
