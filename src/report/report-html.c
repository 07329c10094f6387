/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* HTML: text that stays text in a page */

#include "report/report-html.h"

static const char *escape_of(char c) {
        switch (c) {
        case '&':
                return "&amp;";
        case '<':
                return "&lt;";
        case '>':
                return "&gt;";
        case '"':
                return "&quot;";
        case '\'':
                return "&#39;";
        default:
                return NULL;
        }
}

int report_html_text(Bytes *page, const char *text) {
        int r = 0;

        for (; r == 0 && text && *text; text++) {
                const char *escape = escape_of(*text);

                r = escape ? bytes_append(page, escape, strlen(escape))
                           : bytes_append(page, text, 1);
        }
        return r;
}

int report_html_json(Bytes *page, const Bytes *json) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json->n; i++)
                r = json->data[i] == '<' ? bytes_append(page, "\\u003c", 6)
                                         : bytes_append(page, &json->data[i], 1);
        return r;
}
