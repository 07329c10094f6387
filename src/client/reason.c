/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reasons: translates texts of the service and its probes */

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
#define JOINT_BYTES 2 /* between two texts: ": " or "; " */
#define JOINTS_MAX  16

typedef struct Formats {
        const char *const *formats;
        size_t n;
        const char *(*translate)(const char *format);
        const char *(*translate_foreign)(
                const char *text); /* returns `text` if it cannot; or NULL */
} Formats;

/* The parts of a reason that stand in place of its format's conversions. */
typedef struct Parts {
        struct {
                const char *text;
                size_t n;
        } parts[PARTS_MAX];
        size_t n;
        size_t n_words;
} Parts;

/* Bytes of the conversion that begins here, as "%s", "%2$s", "%.64s" and "%zu"; 0 when none does. */
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

/* Finds the words in the text; the words behind the last conversion must be at its end. */
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
                return; /* a translation with more conversions than its format */
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

static const char *translate_foreign(const Formats *formats, const char *text) {
        return formats->translate_foreign && *text ? formats->translate_foreign(text) : text;
}

/* Returns NULL if the text is not a known one. */
static char *translate_whole(const Formats *formats, const char *text, unsigned depth) {
        const char *foreign;
        const char *format;
        Parts parts;

        format = formats_find(formats, text, &parts);
        if (format)
                return fill(formats, formats->translate(format), &parts, depth);
        foreign = translate_foreign(formats, text);
        return foreign != text ? g_strdup(foreign) : NULL;
}

/* Where texts end: at joints, and at the end of everything. Behind the last joint that is examined, the rest is one
 * text. */
static size_t find_ends(const char *ret[static JOINTS_MAX + 1], const char *text) {
        const char *at = text;
        size_t n = 0;

        for (; *at && n < JOINTS_MAX; at++)
                if (g_str_has_prefix(at, ": ") || g_str_has_prefix(at, "; "))
                        ret[n++] = at;
        ret[n++] = at + strlen(at);
        return n;
}

/* The longest known text that begins here, and where it ends; or else what is up to the next joint, as it is. */
static void append_longest(GString *to,
                           const Formats *formats,
                           const char *text,
                           const char *const *ends,
                           size_t n_ends,
                           size_t *at,
                           unsigned depth) {
        for (size_t i = n_ends; i-- > *at;) {
                g_autofree char *part = g_strndup(text, (gsize)(ends[i] - text));
                g_autofree char *translated = translate_whole(formats, part, depth);

                if (!translated && i > *at)
                        continue;
                g_string_append(to, translated ? translated : part);
                *at = i;
                return;
        }
}

/* A text that says what failed may be followed by one that says why, and one that says what to do. */
static char *translate(const Formats *formats, const char *text, unsigned depth) {
        const char *ends[JOINTS_MAX + 1];
        GString *all;
        size_t n_ends;

        if (depth >= NESTING_MAX)
                return g_strdup(text);
        all = g_string_new(NULL);
        n_ends = find_ends(ends, text);
        for (size_t i = 0; i < n_ends; i++) {
                append_longest(all, formats, text, ends, n_ends, &i, depth);
                g_string_append_len(all, ends[i], i + 1 < n_ends ? JOINT_BYTES : 0);
                text = ends[i] + JOINT_BYTES; /* of the last one nothing is left */
        }
        return g_string_free(all, FALSE);
}

char *reason_translate_by(const char *reason,
                          const char *const *formats,
                          size_t n_formats,
                          const char *(*translate_format)(const char *format)) {
        const Formats all = { formats, n_formats, translate_format, NULL };

        return translate(&all, reason, 0);
}

static const char *translate_format(const char *format) {
        return gettext(format);
}

/* The texts of errno: strerror() there was in English. */
static const char *translate_libc(const char *text) {
        return dgettext("libc", text);
}

char *reason_translate(const char *reason) {
        static const Formats formats = {
                reason_formats, ARRAY_SIZE(reason_formats), translate_format, translate_libc
        };

        return translate(&formats, reason, 0);
}

size_t reason_n_formats(void) {
        return ARRAY_SIZE(reason_formats);
}

bool reason_is_of_format(const char *reason, size_t format) {
        Parts parts;

        return format_matches(reason_formats[format], reason, &parts);
}
