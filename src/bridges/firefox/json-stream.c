/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* JSON stream: one token of a JSON text after another, read as it is needed */

#include <stdlib.h>
#include <string.h>

#include "bridges/firefox/json-stream.h"

#define NUMBER_BYTES_MAX 64

void json_stream_init(JsonStream *stream, FILE *file) {
        memset(stream, 0, sizeof(*stream));
        stream->file = file;
        stream->n_left = JSON_BYTES_MAX;
}

static int read_character(JsonStream *stream) {
        if (stream->n_left == 0)
                return EOF;
        stream->n_left--;
        return getc_unlocked(stream->file);
}

static void unread_character(JsonStream *stream, int c) {
        if (c == EOF)
                return;
        ungetc(c, stream->file);
        stream->n_left++;
}

static JsonToken broken(JsonStream *stream) {
        stream->has_ended = true;
        return JSON_END;
}

/*
 * Texts
 */

static void put(JsonStream *stream, const char *bytes, size_t n) {
        if (stream->n_text + n > JSON_TEXT_BYTES_MAX)
                return;
        memcpy(stream->text + stream->n_text, bytes, n);
        stream->n_text += n;
}

static void put_code(JsonStream *stream, unsigned code) {
        static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };
        const unsigned n_more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        char bytes[4] = { (char)(first[n_more] | code >> 6 * n_more) };

        for (unsigned i = 1; i <= n_more; i++)
                bytes[i] = (char)(0x80 | (code >> 6 * (n_more - i) & 0x3f));
        put(stream, bytes, n_more + 1);
}

/* Returns the value of the four digits behind \u, or a negative number. */
static long read_code(JsonStream *stream) {
        char digits[5] = "";

        for (size_t i = 0; i < 4; i++) {
                int c = read_character(stream);

                if (c == EOF || !strchr("0123456789abcdefABCDEF", c) || c == '\0')
                        return -1;
                digits[i] = (char)c;
        }
        return (long)strtoul(digits, NULL, 16);
}

static bool is_between(long code, long first, long last) {
        return code >= first && code <= last;
}

/* Half of a surrogate pair is no character, and neither is NUL, which would end the text. */
static bool read_escaped_code(JsonStream *stream) {
        long code = read_code(stream), low;

        if (is_between(code, 0xd800, 0xdbff)) {
                if (read_character(stream) != '\\' || read_character(stream) != 'u')
                        return false;
                low = read_code(stream);
                if (low < 0)
                        return false;
                code = is_between(low, 0xdc00, 0xdfff)
                               ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                               : '?';
        } else if (code == 0 || is_between(code, 0xdc00, 0xdfff))
                code = '?';
        if (code >= 0)
                put_code(stream, (unsigned)code);
        return code >= 0;
}

static bool read_escaped(JsonStream *stream) {
        static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        const int c = read_character(stream);
        const char *letter;

        if (c == 'u')
                return read_escaped_code(stream);
        letter = c == EOF || c == '\0' ? NULL : strchr(letters, c);
        if (!letter)
                return false;
        put(stream, &meant[letter - letters], 1);
        return true;
}

static bool read_text(JsonStream *stream) {
        stream->n_text = 0;
        for (;;) {
                const int c = read_character(stream);
                const char byte = (char)c;

                if (c == '"')
                        break;
                if (c == EOF || (c == '\\' && !read_escaped(stream)))
                        return false;
                if (c != '\\' && c != '\0')
                        put(stream, &byte, 1);
        }
        stream->text[stream->n_text] = '\0';
        return true;
}

/*
 * Numbers and words
 */

/* The characters of numbers and words; any other character ends them. */
static bool is_of_word(int c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-' || c == '+' || c == '.';
}

static JsonToken read_word(JsonStream *stream, int c) {
        char word[NUMBER_BYTES_MAX + 1], *end;
        size_t n = 0;

        for (; is_of_word(c); c = read_character(stream)) {
                if (n == NUMBER_BYTES_MAX)
                        return broken(stream);
                word[n++] = (char)c;
        }
        unread_character(stream, c);
        word[n] = '\0';
        if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0 || strcmp(word, "null") == 0)
                return JSON_WORD;
        if (n == 0 || (word[0] != '-' && (word[0] < '0' || word[0] > '9')))
                return broken(stream);
        stream->number = strtod(word, &end);
        return *end == '\0' ? JSON_NUMBER : broken(stream);
}

/*
 * Tokens
 */

static JsonToken enter(JsonStream *stream, bool is_object) {
        if (stream->depth == JSON_DEPTH_MAX)
                return broken(stream);
        stream->is_object[stream->depth++] = is_object;
        stream->expects_name = is_object;
        return is_object ? JSON_OBJECT : JSON_ARRAY;
}

static JsonToken leave(JsonStream *stream, bool is_object) {
        if (stream->depth == 0 || stream->is_object[stream->depth - 1] != is_object)
                return broken(stream);
        stream->depth--;
        return is_object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static int skip_blanks(JsonStream *stream) {
        int c;

        do
                c = read_character(stream);
        while (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ':');
        return c;
}

/* In an object, a name follows a value. */
static void after_value(JsonStream *stream) {
        stream->expects_name = stream->depth > 0 && stream->is_object[stream->depth - 1];
}

static JsonToken read_token(JsonStream *stream) {
        const bool is_name = stream->expects_name;
        const int c = skip_blanks(stream);

        switch (c) {
        case EOF:
                return broken(stream);
        case '{':
                return is_name ? broken(stream) : enter(stream, true);
        case '[':
                return is_name ? broken(stream) : enter(stream, false);
        case '}':
                return leave(stream, true);
        case ']':
                return leave(stream, false);
        case '"':
                if (!read_text(stream))
                        return broken(stream);
                return is_name ? JSON_NAME : JSON_TEXT;
        default:
                return is_name ? broken(stream) : read_word(stream, c);
        }
}

JsonToken json_next(JsonStream *stream) {
        JsonToken token;

        if (stream->has_ended)
                return JSON_END;
        token = read_token(stream);
        if (token == JSON_NAME)
                stream->expects_name = false;
        else if (token != JSON_OBJECT && token != JSON_ARRAY)
                after_value(stream);
        return token;
}

void json_skip(JsonStream *stream, JsonToken token) {
        size_t depth = stream->depth;

        if (token != JSON_OBJECT && token != JSON_ARRAY)
                return;
        while (stream->depth >= depth && json_next(stream) != JSON_END)
                ;
}
