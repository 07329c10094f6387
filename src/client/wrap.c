/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Wrap: text on lines of a given width */

#include "client/wrap.h"

#include <stdbool.h>
#include <string.h>

/* Punctuation that no line begins with, and that none ends with. */
#define CLOSING ",.:;!?)]}%\"'、。，．：；！？）】》」』〉〕％…”’·ー々"
#define OPENING "([{\"'（【《「『〈〔“‘"

static size_t character_width(gunichar c) {
        return g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
}

static bool is_in(const char *set, gunichar c) {
        return g_utf8_strchr(set, -1, c);
}

/* Whether a line may end between these two. */
static bool may_break(gunichar before, gunichar after) {
        if (before == ' ' || after == ' ')
                return after != ' ';
        if (!g_unichar_iswide(before) && !g_unichar_iswide(after))
                return false;
        return !g_unichar_iszerowidth(after) && !is_in(CLOSING, after) && !is_in(OPENING, before);
}

/* Where the first line ends. Spaces may follow. */
static const char *line_end(const char *text, size_t width) {
        const char *end = NULL;
        gunichar before = 0;
        size_t n_used = 0;

        for (const char *p = text; *p; p = g_utf8_next_char(p)) {
                gunichar c = g_utf8_get_char(p);

                if (before && may_break(before, c))
                        end = p;
                n_used += character_width(c);
                if (c != ' ' && n_used > width && before && character_width(c) > 0)
                        return end ? end : p;
                before = c;
        }
        return text + strlen(text);
}

GPtrArray *wrap_lines(const char *text, size_t width) {
        GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);

        do {
                const char *end = line_end(text, width);
                char *line = g_strndup(text, (gsize)(end - text));

                g_ptr_array_add(lines, g_strchomp(line));
                text = end + strspn(end, " ");
        } while (*text);
        return lines;
}
