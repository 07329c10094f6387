/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sentences: text of a page with links into its picture
 *
 * A list has a title and items. An item begins with a link, if it has a place, followed by text. All text is escaped
 * here, wherever it comes from.
 */

#include "answers/answer.h"
#include "report/report-content.h"
#include "shared/bytes.h"

#define REPORT_SENTENCE_NAME_BYTES 120 /* longest name in a sentence */
#define REPORT_SENTENCE_BYTES      1024
#define REPORT_NUMBER_BYTES        24

/* An answer as sentences, one on each line; malloc'ed, or NULL. */
typedef char *(*ReportTell)(const Answer *answer);

typedef struct ReportSentences {
        Bytes *page;
        const ReportContent *content;
        const char *(*translate)(const char *); /* or NULL */
        ReportTell tell;                        /* or NULL: answers are left out */
        int error;                              /* 0, or -ENOMEM */
} ReportSentences;

/* A place in the picture. */
typedef struct ReportPlace {
        int64_t from_ns, to_ns;
        const char *what; /* "track", "upid"; or NULL */
        uint32_t number;
        const char *who; /* a thread, as answers name it; or NULL */
} ReportPlace;

static inline const char *report_translated(const ReportSentences *sentences, const char *text) {
        return sentences->translate ? sentences->translate(text) : text;
}

void report_list_begin(ReportSentences *sentences, const char *title);
void report_list_end(ReportSentences *sentences);

/* The place may be NULL. */
void report_item_begin(ReportSentences *sentences, const char *text, const ReportPlace *place);
/* Adds a sentence to the item. */
void report_item_add(ReportSentences *sentences, const char *text);
/* The same with a link of its own. */
void report_item_add_link(ReportSentences *sentences, const char *text, const ReportPlace *place);
void report_item_end(ReportSentences *sentences);
/* An item of one sentence. */
void report_item(ReportSentences *sentences, const char *text, const ReportPlace *place);

/* The text as it appears in a sentence; malloc'ed, or NULL. */
char *report_name_of(const ReportSentences *sentences, uint32_t name);
int64_t report_since_start(const ReportSentences *sentences, int64_t at_ns);
