/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "report/report-page.h"

#include <errno.h>
#include <zlib.h>

#include "report/report-data.h"
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

        if (r == 0 && compress2(ret->data, &n, data->data, data->n, Z_BEST_COMPRESSION) != Z_OK)
                r = -ENOMEM;
        ret->n = r == 0 ? n : 0;
        return r;
}

static int append_data(Bytes *page, const ReportContent *content, const ReportOptions *options) {
        Bytes data = { 0 }, packed = { 0 };
        int r = report_data_make(&data, content, options->title, options->from_ns, options->to_ns);

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

static int append_part(Bytes *page,
                       const ReportPart *part,
                       const ReportContent *content,
                       const Bytes *findings,
                       const ReportOptions *options) {
        switch (part->slot) {
        case REPORT_SLOT_TITLE:
                return report_html_text(page, options->title);
        case REPORT_SLOT_LANGUAGE:
                return report_html_text(page, options->language ? options->language : "en");
        case REPORT_SLOT_FINDINGS:
                return bytes_append(page, findings->data, findings->n);
        case REPORT_SLOT_WORDS:
                return append_words(page, options);
        case REPORT_SLOT_DATA:
                return append_data(page, content, options);
        case REPORT_SLOT_WORD:
                return report_html_text(page, translate(options, report_word(part->text)));
        default:
                return append_text(page, part->text);
        }
}

static int make_page(Bytes *page,
                     const ReportContent *content,
                     const Bytes *findings,
                     const ReportOptions *options) {
        int r = 0;

        bytes_clear(page);
        for (size_t i = 0; r == 0 && i < report_n_parts; i++)
                r = append_part(page, &report_parts[i], content, findings, options);
        return r;
}

#define HALVINGS_MAX 20

/* What a page's bytes are, is known when it is made; they shrink about as its rows do. */
static int make_small_page(Bytes *ret,
                           ReportContent *content,
                           const Bytes *findings,
                           const ReportOptions *options) {
        const size_t n_bytes_max =
                options->n_bytes_max ? options->n_bytes_max : REPORT_PAGE_BYTES_MAX;
        size_t n_rows = REPORT_ROWS_MAX;
        int r;

        report_content_thin(content, n_rows);
        r = make_page(ret, content, findings, options);
        for (unsigned i = 0; r == 0 && ret->n > n_bytes_max && i < HALVINGS_MAX; i++) {
                n_rows /= 2;
                report_content_thin(content, n_rows);
                r = make_page(ret, content, findings, options);
        }
        return r;
}

int report_page_make(Bytes *ret, const TraceStore *store, const ReportOptions *options) {
        Bytes findings = { 0 };
        ReportContent content;
        int r = report_content_init(&content, store);

        if (r == 0)
                r = report_findings(&findings, &content, options->translate, options->tell);
        if (r == 0)
                r = make_small_page(ret, &content, &findings, options);
        report_content_deinit(&content);
        bytes_deinit(&findings);
        return r;
}
