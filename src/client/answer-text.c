/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer text: one value of an answer for people */

#include "client/answer-text.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

#include "client/say.h"
#include "shared/text.h"

static char *signed_size(int64_t n_bytes) {
        uint64_t size = n_bytes < 0 ? -(uint64_t)n_bytes : (uint64_t)n_bytes;
        char text[TEXT_SIZE_BYTES];

        return g_strconcat(n_bytes < 0 ? "-" : "", text_format_size(text, size), NULL);
}

static char *duration(int64_t ns) {
        char text[TEXT_SIZE_BYTES];

        return g_strdup(text_format_duration(text, (uint64_t)MAX(ns, INT64_C(0))));
}

/* Times are shown in microseconds, so that they can be given as a range again. */
static char *time_text(int64_t ns) {
        uint64_t us = (ns < 0 ? -(uint64_t)ns : (uint64_t)ns) / 1000;

        return g_strdup_printf(
                "%s%" PRIu64 ".%06" PRIu64 " s", ns < 0 ? "-" : "", us / 1000000, us % 1000000);
}

char *answer_value_text(const AnswerValue *value, AnswerKind kind) {
        char text[ANSWER_TEXT_BYTES];

        if (!value->is_there)
                return g_strdup("-");
        if (value->word)
                return g_strdup(_(value->word));
        switch (kind) {
        case ANSWER_TEXT:
        case ANSWER_WORD:
                return say_clean(value->text, strlen(value->text));
        case ANSWER_NS:
                return duration(value->number);
        case ANSWER_TIME:
                return time_text(value->number);
        case ANSWER_BYTES:
                return signed_size(value->number);
        case ANSWER_SHARE:
                g_ascii_formatd(text, sizeof(text), "%.1f", value->real * 100);
                return g_strconcat(text, " %", NULL);
        case ANSWER_PROBABILITY:
                return g_strdup(g_ascii_formatd(text, sizeof(text), "%.3f", value->real));
        case ANSWER_REAL:
                return g_strdup(g_ascii_formatd(text, sizeof(text), "%.1f", value->real));
        default:
                return g_strdup_printf("%" PRId64, value->number);
        }
}
