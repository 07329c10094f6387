/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Charset: text for terminals and pipes that do not read UTF-8 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie() */
#endif

#include "client/charset.h"

#include <errno.h>
#include <glib.h>
#include <iconv.h>
#include <libintl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/macro.h"

#define CHARACTER_BYTES_MAX 16 /* bytes of one character in any charset, or of its substitute */

/* The special characters of our own texts. For the rest, the C library has substitutes in most locales. */
static const struct {
        gunichar from;
        const char *to;
} look_alikes[] = {
        { 0x00a0, " " },  { 0x00ab, "\"" }, { 0x00b5, "u" }, { 0x00b7, "." },   { 0x00bb, "\"" },
        { 0x00d7, "x" },  { 0x03bc, "u" },  { 0x2010, "-" }, { 0x2011, "-" },   { 0x2013, "-" },
        { 0x2014, "-" },  { 0x2018, "'" },  { 0x2019, "'" }, { 0x201a, "'" },   { 0x201c, "\"" },
        { 0x201d, "\"" }, { 0x201e, "\"" }, { 0x2022, "*" }, { 0x2026, "..." }, { 0x202f, " " },
        { 0x2190, "<-" }, { 0x2192, "->" }, { 0x2212, "-" }, { 0xfffd, "?" },
};

static const char *charset;
static iconv_t exact = (iconv_t)-1, alike = (iconv_t)-1;

/* A replaced stream: stdout or stderr. */
typedef struct Output {
        int fd;
        char begun
                [CHARACTER_BYTES_MAX]; /* the beginning of a character that the next write completes */
        size_t n_begun;
} Output;

static Output outputs[] = { { .fd = STDOUT_FILENO }, { .fd = STDERR_FILENO } };

bool charset_is_utf8(void) {
        return charset == NULL;
}

/* Returns 0, or -1 if the charset lacks the character. */
static int convert(iconv_t with,
                   const char *from,
                   size_t n_from,
                   char to[CHARACTER_BYTES_MAX],
                   size_t *ret_n) {
        size_t n_left = CHARACTER_BYTES_MAX;
        char *in = (char *)from, *out = to;

        if (with == (iconv_t)-1 || iconv(with, &in, &n_from, &out, &n_left) == (size_t)-1)
                return -1;
        *ret_n = CHARACTER_BYTES_MAX - n_left;
        return 0;
}

static const char *look_alike(gunichar c) {
        for (size_t i = 0; i < ARRAY_SIZE(look_alikes); i++)
                if (look_alikes[i].from == c)
                        return look_alikes[i].to;
        return NULL;
}

/* Appends one character in the locale's charset. */
static void append_character(GString *to, const char *from, size_t n_from) {
        char converted[CHARACTER_BYTES_MAX];
        const char *text;
        size_t n;

        if (n_from == 1) {
                g_string_append_c(to, *from);
                return;
        }
        text = look_alike(g_utf8_get_char(from));
        if (convert(exact, from, n_from, converted, &n) == 0)
                g_string_append_len(to, converted, (gssize)n);
        else if (text)
                g_string_append(to, text);
        else if (convert(alike, from, n_from, converted, &n) == 0 && n > 0)
                g_string_append_len(to, converted, (gssize)n);
        else
                g_string_append_c(to, '?');
}

/* Appends the complete characters; returns how many bytes at the end begin another one. */
static size_t append_text(GString *to, const char *text, size_t n) {
        while (n > 0) {
                gunichar c = g_utf8_get_char_validated(text, (gssize)n);
                size_t n_character = 1;

                if (c == (gunichar)-2)
                        return n;
                if (c == (gunichar)-1) {
                        g_string_append_c(to, '?');
                } else {
                        n_character = c ? (size_t)(g_utf8_next_char(text) - text) : 1;
                        append_character(to, text, n_character);
                }
                text += n_character;
                n -= n_character;
        }
        return 0;
}

char *charset_reduce(char *text) {
        g_autofree char *given = text;
        g_autoptr(GString) converted = NULL;
        char *reduced;

        if (charset_is_utf8() || g_str_is_ascii(text))
                return g_steal_pointer(&given);
        converted = g_string_new(NULL);
        append_text(converted, text, strlen(text));
        reduced = g_convert(
                converted->str, (gssize)converted->len, "UTF-8", charset, NULL, NULL, NULL);
        return reduced ? reduced : g_steal_pointer(&given);
}

size_t charset_width(const char *text) {
        size_t width = 0;

        for (; *text; text = g_utf8_next_char(text)) {
                gunichar c = g_utf8_get_char(text);

                width += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
        }
        return width;
}

static int write_all(int fd, const char *data, size_t n) {
        while (n > 0) {
                ssize_t r = write(fd, data, n);

                if (r < 0 && errno != EINTR)
                        return -1;
                if (r > 0) {
                        data += r;
                        n -= (size_t)r;
                }
        }
        return 0;
}

static ssize_t output_write(void *cookie, const char *data, size_t n) {
        g_autoptr(GString) text = g_string_new(NULL), converted = g_string_new(NULL);
        Output *output = cookie;
        size_t n_rest;

        g_string_append_len(text, output->begun, (gssize)output->n_begun);
        g_string_append_len(text, data, (gssize)n);
        n_rest = append_text(converted, text->str, text->len);
        output->n_begun = MIN(n_rest, sizeof(output->begun));
        memcpy(output->begun, text->str + text->len - output->n_begun, output->n_begun);
        /* The function returns 0 for an error. */
        return write_all(output->fd, converted->str, converted->len) < 0 ? 0 : (ssize_t)n;
}

static FILE *output_open(Output *output) {
        FILE *stream = fopencookie(output, "w", (cookie_io_functions_t){ .write = output_write });

        if (!stream)
                return output->fd == STDOUT_FILENO ? stdout : stderr;
        if (output->fd == STDERR_FILENO)
                setvbuf(stream, NULL, _IONBF, 0);
        else if (isatty(output->fd))
                setvbuf(stream, NULL, _IOLBF, 0);
        return stream;
}

/* Otherwise GLib would convert as well. */
static void print(const char *text) {
        fputs(text, stdout);
}

static void print_error(const char *text) {
        fputs(text, stderr);
}

void charset_init(void) {
        g_autofree char *look_alike_charset = NULL;

        bind_textdomain_codeset("libc", "UTF-8"); /* of strerror() */
        if (g_get_charset(&charset)) {
                charset = NULL;
                return;
        }
        look_alike_charset = g_strconcat(charset, "//TRANSLIT", NULL);
        exact = iconv_open(charset, "UTF-8");
        alike = iconv_open(look_alike_charset, "UTF-8");
        fflush(stdout);
        stdout = output_open(&outputs[0]);
        stderr = output_open(&outputs[1]);
        g_set_print_handler(print);
        g_set_printerr_handler(print_error);
}
