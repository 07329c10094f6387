/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sentences: text of a page with links into its picture */

#include "report/report-sentences.h"

#include <inttypes.h>
#include <stdio.h>

#include "report/report-html.h"
#include "shared/utf8.h"

static void put(ReportSentences *sentences, const char *html) {
        int r = bytes_append(sentences->page, html, strlen(html));

        if (r != 0)
                sentences->error = r;
}

static void put_text(ReportSentences *sentences, const char *text) {
        int r = report_html_text(sentences->page, text);

        if (r != 0)
                sentences->error = r;
}

int64_t report_since_start(const ReportSentences *sentences, int64_t at_ns) {
        return (int64_t)((uint64_t)at_ns - (uint64_t)sentences->content->start_ns);
}

char *report_name_of(const ReportSentences *sentences, uint32_t name) {
        const char *text = trace_pool_text(&sentences->content->store->pool, name);

        return utf8_copy_line(text && *text ? text : "?", REPORT_SENTENCE_NAME_BYTES);
}

void report_list_begin(ReportSentences *sentences, const char *title) {
        put(sentences, "<h3>");
        put_text(sentences, report_translated(sentences, title));
        put(sentences, "</h3>\n<ul>\n");
}

void report_list_end(ReportSentences *sentences) {
        put(sentences, "</ul>\n");
}

static void put_link(ReportSentences *sentences, const ReportPlace *place) {
        char text[128];

        snprintf(text,
                 sizeof(text),
                 "<a href=\"#picture\" data-from=\"%" PRId64 "\" data-to=\"%" PRId64 "\"",
                 report_since_start(sentences, place->from_ns),
                 report_since_start(sentences, place->to_ns));
        put(sentences, text);
        if (place->what) {
                snprintf(text, sizeof(text), " data-%s=\"%u\"", place->what, place->number);
                put(sentences, text);
        }
        if (place->who) {
                put(sentences, " data-who=\"");
                put_text(sentences, place->who);
                put(sentences, "\"");
        }
        put(sentences, ">");
}

void report_item_begin(ReportSentences *sentences, const char *text, const ReportPlace *place) {
        put(sentences, "<li>");
        if (place)
                put_link(sentences, place);
        put_text(sentences, text);
        if (place)
                put(sentences, "</a>");
}

void report_item_add(ReportSentences *sentences, const char *text) {
        put(sentences, " ");
        put_text(sentences, text);
}

void report_item_add_link(ReportSentences *sentences, const char *text, const ReportPlace *place) {
        put(sentences, " ");
        put_link(sentences, place);
        put_text(sentences, text);
        put(sentences, "</a>");
}

void report_item_end(ReportSentences *sentences) {
        put(sentences, "</li>\n");
}

void report_item(ReportSentences *sentences, const char *text, const ReportPlace *place) {
        report_item_begin(sentences, text, place);
        report_item_end(sentences);
}
