/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client/reason.h"

#include <glib.h>
#include <libintl.h>
#include <stdbool.h>
#include <string.h>

#include "client/reason-formats.h"
#include "shared/macro.h"

#define PARTS_MAX \
        9 /* conversions in a format; "%9$s" is the last one that a translation can name */
#define WORDS_MIN   8 /* bytes of a format that are not conversions; fewer say nothing */
#define NESTING_MAX 3 /* reasons in reasons */

typedef struct Formats {
        const char *const *formats;
        size_t n;
        const char *(*translate)(const char *format);
} Formats;

/* What stands in a reason for the conversions of its format. */
typedef struct Parts {
        struct {
                const char *text;
                size_t n;
        } parts[PARTS_MAX];
        size_t n;
        size_t n_words;
} Parts;

/* Bytes of the conversion that begins here, as "%s", "%2$s", "%.64s" and "%zu"; 0: there is none. */
static size_t conversion_length(const char *format, size_t *ret_position) {
        size_t n = 1, n_digits;

        *ret_position = 0;
        if (*format != '%' || format[1] == '%')
                return 0;
        n_digits = strspn(format + n, "0123456789");
        if (n_digits == 1 && format[n + 1] == '$') {
                *ret_position = (size_t)(format[n] - '0');
                n += 2;
        }
        n += strspn(format + n, "-+ #0123456789.*'");
        n += strspn(format + n, "hljztL");
        return format[n] ? n + 1 : 0;
}

/* The words up to the next conversion or the end, with "%%" as "%". */
static const char *take_words(const char *format, GString *words) {
        size_t position;

        g_string_truncate(words, 0);
        while (*format && conversion_length(format, &position) == 0) {
                format += format[0] == '%' && format[1] == '%';
                g_string_append_c(words, *format++);
        }
        return format;
}

/* Where the words are in the text; behind the last conversion they are its end. */
static const char *find_words(const char *text, const GString *words, bool is_last) {
        size_t n = strlen(text);

        if (!is_last)
                return strstr(text, words->str);
        if (n < words->len || !streq(text + n - words->len, words->str))
                return NULL;
        return text + n - words->len;
}

static bool format_matches(const char *format, const char *text, Parts *ret) {
        g_autoptr(GString) words = g_string_new(NULL);
        size_t position;

        *ret = (Parts){ 0 };
        format = take_words(format, words);
        if (strncmp(text, words->str, words->len) != 0)
                return false;
        text += words->len;
        ret->n_words = words->len;
        while (*format) {
                const char *next;

                format = take_words(format + conversion_length(format, &position), words);
                next = find_words(text, words, !*format);
                if (!next || ret->n == PARTS_MAX)
                        return false;
                ret->parts[ret->n].text = text;
                ret->parts[ret->n++].n = (size_t)(next - text);
                ret->n_words += words->len;
                text = next + words->len;
        }
        return *text == '\0' && ret->n_words >= WORDS_MIN;
}

/* The format with the most words, as others may fit by chance. */
static const char *formats_find(const Formats *formats, const char *text, Parts *ret) {
        const char *found = NULL;
        Parts parts;

        *ret = (Parts){ 0 };
        for (size_t i = 0; i < formats->n; i++) {
                if (!format_matches(formats->formats[i], text, &parts) ||
                    (found && parts.n_words <= ret->n_words))
                        continue;
                found = formats->formats[i];
                *ret = parts;
        }
        return found;
}

static char *translate(const Formats *formats, const char *text, unsigned depth);

static void
append_part(GString *to, const Formats *formats, const Parts *parts, size_t i, unsigned depth) {
        g_autofree char *part = NULL, *translated = NULL;

        if (i >= parts->n)
                return; /* a translation that asks for more than there is */
        part = g_strndup(parts->parts[i].text, parts->parts[i].n);
        translated = translate(formats, part, depth + 1);
        g_string_append(to, translated);
}

static char *fill(const Formats *formats, const char *format, const Parts *parts, unsigned depth) {
        g_autoptr(GString) words = g_string_new(NULL);
        GString *text = g_string_new(NULL);
        size_t n_filled = 0, position;

        for (;;) {
                format = take_words(format, words);
                g_string_append(text, words->str);
                if (!*format)
                        return g_string_free(text, FALSE);
                format += conversion_length(format, &position);
                append_part(text, formats, parts, position ? position - 1 : n_filled, depth);
                n_filled++;
        }
}

static char *translate(const Formats *formats, const char *text, unsigned depth) {
        const char *format;
        Parts parts;

        format = depth < NESTING_MAX ? formats_find(formats, text, &parts) : NULL;
        return format ? fill(formats, formats->translate(format), &parts, depth) : g_strdup(text);
}

char *reason_translate_by(const char *reason,
                          const char *const *formats,
                          size_t n_formats,
                          const char *(*translate_format)(const char *format)) {
        const Formats all = { formats, n_formats, translate_format };

        return translate(&all, reason, 0);
}

static const char *translate_format(const char *format) {
        return gettext(format);
}

char *reason_translate(const char *reason) {
        return reason_translate_by(
                reason, reason_formats, ARRAY_SIZE(reason_formats), translate_format);
}

size_t reason_n_formats(void) {
        return ARRAY_SIZE(reason_formats);
}
