/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Page: a recording as one HTML file that needs nothing else */

#include "report/report-page.h"

#include <errno.h>
#include <zlib.h>

#include "report/report-data.h"
#include "report/report-differences.h"
#include "report/report-findings.h"
#include "report/report-html.h"
#include "report/report-json.h"
#include "report/report-text.h"
#include "report/report-words.h"

static const char *translate(const ReportOptions *options, const char *text) {
        return options->translate ? options->translate(text) : text;
}

static int append_text(Bytes *page, const char *text) {
        return bytes_append(page, text, strlen(text));
}

static int append_words(Bytes *page, const ReportOptions *options) {
        ReportJson json = { 0 };
        int r;

        report_json_begin(&json, NULL, '{');
        for (size_t i = 0; i < report_n_words; i++)
                report_json_text(&json,
                                 report_words[i].key,
                                 translate(options, report_words[i].text),
                                 SIZE_MAX);
        report_json_end(&json, '}');
        r = json.error;
        if (r == 0)
                r = report_html_json(page, &json.bytes);
        bytes_deinit(&json.bytes);
        return r;
}

/*
 * Data
 */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int append_base64(Bytes *page, const Bytes *data) {
        int r = bytes_reserve(page, data->n / 3 * 4 + 4);

        for (size_t at = 0; r == 0 && at < data->n; at += 3) {
                size_t n = MIN(data->n - at, (size_t)3);
                uint32_t word = (uint32_t)data->data[at] << 16;
                char quad[4];

                if (n > 1)
                        word |= (uint32_t)data->data[at + 1] << 8;
                if (n > 2)
                        word |= data->data[at + 2];
                for (size_t i = 0; i < sizeof(quad); i++)
                        quad[i] = i <= n ? digits[word >> (18 - 6 * i) & 63] : '=';
                r = bytes_append(page, quad, sizeof(quad));
        }
        return r;
}

static int compress_data(Bytes *ret, const Bytes *data) {
        uLongf n = compressBound(data->n);
        int r = bytes_reserve(ret, n);

        if (r == 0 && compress(ret->data, &n, data->data, data->n) != Z_OK)
                r = -ENOMEM;
        ret->n = r == 0 ? n : 0;
        return r;
}

/* One recording of a page. */
typedef struct Side {
        const char *suffix; /* of ids */
        const char *title;
        ReportContent content;
        Bytes findings;
} Side;

typedef struct Page {
        Side sides[REPORT_SIDES];
        size_t n_sides;
        const ReportOptions *options;
        Bytes differences;
} Page;

static int append_data(Bytes *page, const Side *side, const ReportOptions *options) {
        Bytes data = { 0 }, packed = { 0 };
        int r = report_data_make(
                &data, &side->content, side->title, options->from_ns, options->to_ns);

        if (r == 0)
                r = compress_data(&packed, &data);
        if (r == 0)
                r = append_base64(page, &packed);
        bytes_deinit(&data);
        bytes_deinit(&packed);
        return r;
}

/*
 * Page
 */

static int append_name(Bytes *html, const Page *page, const Side *side) {
        int r;

        if (page->n_sides == 1)
                return 0;
        r = append_text(html, "<h2 class=\"name\">");
        if (r == 0)
                r = report_html_text(html, side->title);
        return r == 0 ? append_text(html, "</h2>\n") : r;
}

static int append_part(Bytes *html, const ReportPart *part, const Page *page, const Side *side) {
        const ReportOptions *options = page->options;

        switch (part->slot) {
        case REPORT_SLOT_TITLE:
                return report_html_text(html, options->title);
        case REPORT_SLOT_LANGUAGE:
                return report_html_text(html, options->language ? options->language : "en");
        case REPORT_SLOT_DIFFERENCES:
                return bytes_append(html, page->differences.data, page->differences.n);
        case REPORT_SLOT_SIDE:
                return append_text(html, side->suffix);
        case REPORT_SLOT_NAME:
                return append_name(html, page, side);
        case REPORT_SLOT_FINDINGS:
                return bytes_append(html, side->findings.data, side->findings.n);
        case REPORT_SLOT_DATA:
                return append_data(html, side, options);
        case REPORT_SLOT_WORDS:
                return append_words(html, options);
        case REPORT_SLOT_WORD:
                return report_html_text(html, translate(options, report_word(part->text)));
        default:
                return append_text(html, part->text);
        }
}

/* The parts of the template that repeat for each recording: from this one up to the next end. Returns their number. */
static size_t n_parts_of_side(size_t first) {
        size_t n = 0;

        while (first + n < report_n_parts && report_parts[first + n].slot != REPORT_SLOT_END)
                n++;
        return n;
}

static int append_sides(Bytes *html, const Page *page, size_t first, size_t n) {
        int r = 0;

        for (size_t k = 0; k < page->n_sides; k++)
                for (size_t i = first; r == 0 && i < first + n; i++)
                        r = append_part(html, &report_parts[i], page, &page->sides[k]);
        return r;
}

static int make_page(Bytes *html, const Page *page) {
        int r = 0;

        bytes_clear(html);
        for (size_t i = 0; r == 0 && i < report_n_parts; i++) {
                size_t n = 0;

                if (report_parts[i].slot != REPORT_SLOT_EACH) {
                        r = append_part(html, &report_parts[i], page, &page->sides[0]);
                        continue;
                }
                n = n_parts_of_side(i + 1);
                r = append_sides(html, page, i + 1, n);
                i += n + 1;
        }
        return r;
}

#define HALVINGS_MAX 20

static void thin(Page *page, size_t n_rows) {
        for (size_t i = 0; i < page->n_sides; i++)
                report_content_thin(&page->sides[i].content, n_rows / page->n_sides);
}

/* The size of a page is known only when it has been made; it shrinks about as its rows do. */
static int make_small_page(Bytes *ret, Page *page) {
        const size_t n_bytes_max =
                page->options->n_bytes_max ? page->options->n_bytes_max : REPORT_PAGE_BYTES_MAX;
        size_t n_rows = REPORT_ROWS_MAX;
        int r;

        thin(page, n_rows);
        r = make_page(ret, page);
        for (unsigned i = 0; r == 0 && ret->n > n_bytes_max && i < HALVINGS_MAX; i++) {
                n_rows /= 2;
                thin(page, n_rows);
                r = make_page(ret, page);
        }
        return r;
}

/* Counted at once: the page frees it, however this ends. */
static int add_side(Page *page, const TraceStore *store, const char *title, const char *suffix) {
        Side *side = &page->sides[page->n_sides++];
        int r;

        *side = (Side){ .suffix = suffix, .title = title };
        r = report_content_init(&side->content, store);
        if (r == 0)
                r = report_findings(&side->findings,
                                    &side->content,
                                    page->options->translate,
                                    page->options->tell);
        return r;
}

static void page_deinit(Page *page) {
        for (size_t i = 0; i < page->n_sides; i++) {
                report_content_deinit(&page->sides[i].content);
                bytes_deinit(&page->sides[i].findings);
        }
        bytes_deinit(&page->differences);
}

int report_page_make(Bytes *ret, const TraceStore *store, const ReportOptions *options) {
        Page page = { .options = options };
        int r = add_side(&page, store, options->title, "");

        if (r == 0)
                r = make_small_page(ret, &page);
        page_deinit(&page);
        return r;
}

int report_pair_make(Bytes *ret, const ReportPair *pair, const ReportOptions *options) {
        Page page = { .options = options };
        int r = report_differences(&page.differences, pair, options);

        for (size_t i = 0; r == 0 && i < REPORT_SIDES; i++)
                r = add_side(&page, pair->stores[i], pair->titles[i], report_side_suffixes[i]);
        if (r == 0)
                r = make_small_page(ret, &page);
        page_deinit(&page);
        return r;
}
