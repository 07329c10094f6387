/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "answers/comparison.h"
#include "report-world.h"
#include "report/report-html.h"
#include "report/report-json.h"
#include "report/report-page.h"
#include "report/report-words.h"

#include "test.h"

#define MARKUP "</script><script>alert(1)</script><img src=x onerror=alert(1)>"

static TraceStore *make_store(void) {
        TraceStore *store;

        ck_assert_int_eq(trace_store_new(&store, STORE_BYTES_MAX), 0);
        return store;
}

/* NUL-terminated. */
static Bytes make_page(const TraceStore *store, const char *title) {
        const ReportOptions options = { .title = title };
        Bytes page = { 0 };

        ck_assert_int_eq(report_page_make(&page, store, &options), 0);
        ck_assert_uint_le(page.n, REPORT_PAGE_BYTES_MAX);
        ck_assert_int_eq(bytes_append(&page, "", 1), 0);
        return page;
}

static size_t count(const Bytes *page, const char *text) {
        const char *at = (const char *)page->data;
        size_t n = 0;

        while ((at = strstr(at, text))) {
                at += strlen(text);
                n++;
        }
        return n;
}

START_TEST(test_an_empty_recording_has_a_page) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        _cleanup_(bytes_deinit) Bytes page = make_page(store, "empty.pftrace");

        ck_assert_uint_eq(count(&page, "<h1>empty.pftrace</h1>"), 1);
        ck_assert_uint_eq(count(&page, "</html>"), 1);
}
END_TEST

START_TEST(test_names_are_never_markup) {
        _cleanup_(trace_store_freep) TraceStore *empty = make_store(), *store = make_store();
        _cleanup_(bytes_deinit) Bytes plain = make_page(empty, "plain"), page = { 0 };
        uint32_t track = add_track(store, MARKUP, TRACK_KIND_SLICE);

        add_slice(store, track, 0, 100, 1000000, MARKUP);
        page = make_page(store, MARKUP);
        ck_assert_uint_eq(count(&page, "<script"), count(&plain, "<script"));
        ck_assert_uint_eq(count(&page, "</script>"), count(&plain, "</script>"));
        ck_assert_uint_eq(count(&page, "<img"), 0);
        ck_assert_uint_gt(count(&page, "&lt;img"), 1); /* title and findings */
}
END_TEST

static char *format(const AnswerValue *value, AnswerKind kind) {
        (void)kind;
        return value->text ? strdup(value->text) : NULL;
}

/* Makes the page of a store beside itself, NUL-terminated. */
static Bytes make_pair_page(const TraceStore *store, const Answer *answer, size_t n_bytes_max) {
        const ReportPair pair = { .stores = { store, store },
                                  .titles = { "a" MARKUP, "b" MARKUP },
                                  .differences = &answer,
                                  .n_differences = 1,
                                  .format = format };
        const ReportOptions options = { .title = MARKUP, .n_bytes_max = n_bytes_max };
        Bytes page = { 0 };

        ck_assert_int_eq(report_pair_make(&page, &pair, &options), 0);
        ck_assert_uint_le(page.n, n_bytes_max ? n_bytes_max : REPORT_PAGE_BYTES_MAX);
        ck_assert_int_eq(bytes_append(&page, "", 1), 0);
        return page;
}

START_TEST(test_two_recordings_are_in_one_page) {
        _cleanup_(trace_store_freep) TraceStore *empty = make_store(), *store = make_store();
        _cleanup_(bytes_deinit) Bytes plain = make_page(empty, "plain"), page = { 0 };
        uint32_t track = add_track(store, MARKUP, TRACK_KIND_SLICE);
        Comparison comparison;
        Answer *answer;

        add_slice(store, track, 0, 100, 1000000, MARKUP);
        ck_assert_int_eq(comparison_init(&comparison, COMPARISON_P50, NULL), 0);
        for (unsigned side = 0; side < REPORT_SIDES; side++)
                ck_assert_int_eq(comparison_add(&comparison, side, store, NULL), 0);
        ck_assert_int_eq(comparison_answer(&comparison, 0, &answer), 0);
        page = make_pair_page(store, answer, 0);
        ck_assert_uint_eq(count(&page, "<script type=\"text/plain\""), 2);
        ck_assert_uint_eq(count(&page, "</script>"), count(&plain, "</script>") + 1);
        ck_assert_uint_eq(count(&page, "<img"), 0);
        ck_assert_uint_eq(count(&page, "<a href=\"#picture-a\" data-side=\"-a\" data-from=\"0\""),
                          1);
        ck_assert_uint_eq(count(&page, "id=\"canvas-a\""), 1);
        ck_assert_uint_eq(count(&page, "id=\"canvas-b\""), 1);
        answer_free(answer);
        comparison_deinit(&comparison);
}
END_TEST

START_TEST(test_a_page_does_not_outgrow_its_limit) {
        _cleanup_(trace_store_freep) TraceStore *store = make_store();
        uint32_t track = add_track(store, "t", TRACK_KIND_SLICE);
        uint64_t random = 88172645463325252u;
        const ReportOptions options = { .title = "large", .n_bytes_max = 200000 };
        _cleanup_(bytes_deinit) Bytes page = { 0 };
        int64_t at_ns = 0;

        for (int i = 0; i < 100000; i++) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                add_slice(store, track, 0, at_ns, (int64_t)(random % 10000000), "noise");
                at_ns += 10000000 + (int64_t)(random >> 40);
        }
        ck_assert_int_eq(report_page_make(&page, store, &options), 0);
        ck_assert_uint_le(page.n, options.n_bytes_max);
        ck_assert_uint_gt(page.n, options.n_bytes_max / 4);
}
END_TEST

START_TEST(test_json_escapes_what_it_must) {
        ReportJson json = { 0 };

        report_json_begin(&json, NULL, '[');
        report_json_text(&json, NULL, "a\"b\\c\n\x01\x7f", SIZE_MAX);
        report_json_text(&json, NULL, NULL, SIZE_MAX);
        report_json_text(&json, NULL, "\xc3\xa4\xc3\xb6", 3); /* cut between characters */
        report_json_text(&json, NULL, "\xff\xfe!", SIZE_MAX);
        report_json_number(&json, NULL, INT64_MIN);
        report_json_end(&json, ']');
        ck_assert_int_eq(json.error, 0);
        ck_assert_int_eq(bytes_append(&json.bytes, "", 1), 0);
        ck_assert_str_eq((char *)json.bytes.data,
                         "[\"a\\u0022b\\u005cc\\u000a\\u0001\\u007f\",\"\",\"\xc3\xa4\",\"!\","
                         "-9223372036854775808]");
        bytes_deinit(&json.bytes);
}
END_TEST

START_TEST(test_html_escapes_what_it_must) {
        _cleanup_(bytes_deinit) Bytes page = { 0 }, json = { 0 };

        ck_assert_int_eq(report_html_text(&page, "<a href=\"x\" b='y'>&"), 0);
        ck_assert_int_eq(report_html_text(&page, NULL), 0);
        ck_assert_int_eq(bytes_append(&page, "", 1), 0);
        ck_assert_str_eq((char *)page.data, "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
        ck_assert_int_eq(bytes_append(&json, "</", 2), 0);
        page.n = 0;
        ck_assert_int_eq(report_html_json(&page, &json), 0);
        ck_assert_int_eq(bytes_append(&page, "", 1), 0);
        ck_assert_str_eq((char *)page.data, "\\u003c/");
}
END_TEST

START_TEST(test_words_have_keys_of_their_own) {
        for (size_t i = 0; i < report_n_words; i++)
                ck_assert_ptr_eq(report_word(report_words[i].key), report_words[i].text);
        ck_assert_str_eq(report_word("not a key"), "not a key");
}
END_TEST

TEST_MAIN("page",
          test_an_empty_recording_has_a_page,
          test_names_are_never_markup,
          test_two_recordings_are_in_one_page,
          test_a_page_does_not_outgrow_its_limit,
          test_json_escapes_what_it_must,
          test_html_escapes_what_it_must,
          test_words_have_keys_of_their_own)
