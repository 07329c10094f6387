/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "fixture.h"
#include "probes/ftrace/page.h"

static const PageLayout layout = PAGE_LAYOUT_64BIT;

/* A page under construction. */
typedef struct Page {
        uint8_t bytes[256];
        size_t n;
} Page;

static Page page_new(uint64_t timestamp) {
        Page page = { .n = 16 };

        memcpy(page.bytes, &timestamp, sizeof(timestamp));
        return page;
}

static void page_word(Page *page, uint32_t word) {
        memcpy(page->bytes + page->n, &word, sizeof(word));
        page->n += sizeof(word);
}

static void page_header(Page *page, uint32_t type_len, uint32_t delta) {
        page_word(page, type_len | delta << 5);
}

static void page_start_reading(Page *page, uint64_t flags, PageReader *reader) {
        uint64_t commit = (page->n - 16) | flags;

        memcpy(page->bytes + 8, &commit, sizeof(commit));
        ck_assert_int_eq(page_reader_init(reader, &layout, page->bytes, sizeof(page->bytes)), 0);
}

START_TEST(test_the_kernels_layout_is_read_from_header_page) {
        char *text = fixture_read("tracefs/events/header_page", NULL);
        PageLayout parsed;

        ck_assert_int_eq(page_layout_parse(&parsed, text), 0);
        ck_assert_uint_eq(parsed.commit_offset, 8);
        ck_assert_uint_eq(parsed.commit_size, 8);
        ck_assert_uint_eq(parsed.data_offset, 16);
        free(text);
        ck_assert_int_eq(page_layout_parse(&parsed, "field: u64 timestamp; offset:0; size:8;"),
                         -EBADMSG);
        ck_assert_int_eq(
                page_layout_parse(&parsed,
                                  " commit;\toffset:8;\tsize:3;\n data;\toffset:16;\tsize:9;"),
                -EBADMSG);
}
END_TEST

START_TEST(test_time_goes_on_over_extends_padding_and_absolute_stamps) {
        Page page = page_new((UINT64_C(3) << 59) + 1000);
        PageReader reader;
        PageRecord record;

        page_header(&page, 1, 5);
        page_word(&page, 0xaaaaaaaa);
        page_header(&page, PAGE_TYPE_TIME_EXTEND, 7);
        page_word(&page, 2);
        page_header(&page, 2, 0);
        page_word(&page, 1);
        page_word(&page, 2);
        page_header(&page, PAGE_TYPE_PADDING, 3); /* a discarded record of 8 bytes */
        page_word(&page, 8);
        page_word(&page, 0);
        page_header(&page, PAGE_TYPE_TIME_STAMP, 1);
        page_word(&page, 4);
        page_header(&page, 0, 9); /* a long record: 12 bytes after the length */
        page_word(&page, 16);
        page_word(&page, 0);
        page_word(&page, 0);
        page_word(&page, 0);
        page_header(&page, PAGE_TYPE_PADDING, 0); /* the unused tail */
        page_word(&page, 0xffffffff);

        page_start_reading(&page, 0, &reader);
        ck_assert(!reader.lost);
        ck_assert_int_eq(page_read(&reader, &record), 1);
        ck_assert_uint_eq(record.timestamp, (UINT64_C(3) << 59) + 1005);
        ck_assert_uint_eq(record.n_bytes, 4);
        ck_assert_int_eq(page_read(&reader, &record), 1);
        ck_assert_uint_eq(record.timestamp, (UINT64_C(3) << 59) + 1005 + (2u << 27) + 7);
        ck_assert_int_eq(page_read(&reader, &record), 1);
        ck_assert_uint_eq(record.timestamp, (UINT64_C(3) << 59) + (4u << 27) + 1 + 9);
        ck_assert_uint_eq(record.n_bytes, 12);
        ck_assert_int_eq(page_read(&reader, &record), 0);
}
END_TEST

START_TEST(test_losses_are_seen_and_counted_when_the_kernel_says_how_many) {
        Page page = page_new(1);
        PageReader reader;
        uint64_t n_lost = 42;

        page_header(&page, 1, 5);
        page_word(&page, 0);
        memcpy(page.bytes + page.n, &n_lost, sizeof(n_lost));
        page_start_reading(&page, UINT64_C(1) << 31 | UINT64_C(1) << 30, &reader);
        ck_assert(reader.lost);
        ck_assert_uint_eq(reader.n_lost, 42);
        page_start_reading(&page, UINT64_C(1) << 31, &reader);
        ck_assert(reader.lost);
        ck_assert_uint_eq(reader.n_lost, 0);
}
END_TEST

START_TEST(test_nonsense_is_named_and_ends_the_page) {
        static const struct {
                uint32_t type_len, delta, word;
                bool has_word;
                FtraceStatus status;
        } cases[] = {
                { 3, 1, 0, true, FTRACE_STATUS_INVALID_DATA_LENGTH },
                { 0, 1, 0, false, FTRACE_STATUS_SHORT_DATA_LENGTH },
                { 0, 1, 4, true, FTRACE_STATUS_ZERO_DATA_LENGTH },
                { 0, 1, 400, true, FTRACE_STATUS_INVALID_DATA_LENGTH },
                { 0, 1, UINT32_MAX, true, FTRACE_STATUS_INVALID_DATA_LENGTH },
                { PAGE_TYPE_PADDING, 1, 0, false, FTRACE_STATUS_SHORT_PADDING_LENGTH },
                { PAGE_TYPE_PADDING, 1, 400, true, FTRACE_STATUS_INVALID_PADDING_LENGTH },
                { PAGE_TYPE_PADDING, 1, 0, true, FTRACE_STATUS_INVALID_PADDING_LENGTH },
                { PAGE_TYPE_TIME_EXTEND, 1, 0, false, FTRACE_STATUS_SHORT_TIME_EXTEND },
                { PAGE_TYPE_TIME_STAMP, 1, 0, false, FTRACE_STATUS_SHORT_TIME_STAMP },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                Page page = page_new(1);
                PageReader reader;
                PageRecord record;

                page_header(&page, cases[i].type_len, cases[i].delta);
                if (cases[i].has_word)
                        page_word(&page, cases[i].word);
                page_start_reading(&page, 0, &reader);
                ck_assert_msg(page_read(&reader, &record) == -EBADMSG, "case %zu", i);
                ck_assert_msg(reader.status == cases[i].status, "case %zu: %d", i, reader.status);
                ck_assert_int_eq(page_read(&reader, &record), 0);
        }
}
END_TEST

START_TEST(test_a_page_that_says_more_than_was_read_is_refused) {
        uint8_t page[64] = {};
        uint64_t commit = 49;
        PageReader reader;

        memcpy(page + 8, &commit, sizeof(commit));
        ck_assert_int_eq(page_reader_init(&reader, &layout, page, sizeof(page)), -EBADMSG);
        ck_assert_int_eq(reader.status, FTRACE_STATUS_INVALID_PAGE_HEADER);
        ck_assert_int_eq(page_reader_init(&reader, &layout, page, 15), -EBADMSG);
        ck_assert_int_eq(reader.status, FTRACE_STATUS_PARTIAL_PAGE_READ);
}
END_TEST

/* Each record of the captured pages, with the time that the kernel's own trace file gave it. */
static size_t check_capture(const char *name, const char *text) {
        char file[64];
        uint8_t *pages;
        size_t n_pages, n = 0;

        snprintf(file, sizeof(file), "tracefs/%s.raw", name);
        pages = (uint8_t *)fixture_read(file, &n_pages);
        for (size_t at = 0; at < n_pages; at += 4096) {
                PageReader reader;
                PageRecord record;
                FixtureRow row;

                ck_assert_int_eq(page_reader_init(&reader, &layout, pages + at, 4096), 0);
                while (page_read(&reader, &record) == 1) {
                        text = fixture_row(text, &row);
                        ck_assert_ptr_nonnull(text);
                        /* The kernel prints rounded microseconds. */
                        ck_assert_uint_eq((record.timestamp + 500) / 1000, row.time_us);
                        n++;
                }
                ck_assert_int_eq(reader.status, FTRACE_STATUS_OK);
        }
        ck_assert_int_eq(*text, '\0');
        free(pages);
        return n;
}

START_TEST(test_captured_pages_have_the_records_that_the_kernel_printed) {
        char *sched = fixture_read("tracefs/sched.txt", NULL);
        char *mixed = fixture_read("tracefs/mixed.txt", NULL);

        ck_assert_uint_gt(check_capture("sched", sched), 500);
        ck_assert_uint_gt(check_capture("mixed", mixed), 100);
        free(sched);
        free(mixed);
}
END_TEST

TEST_MAIN("page",
          test_the_kernels_layout_is_read_from_header_page,
          test_time_goes_on_over_extends_padding_and_absolute_stamps,
          test_losses_are_seen_and_counted_when_the_kernel_says_how_many,
          test_nonsense_is_named_and_ends_the_page,
          test_a_page_that_says_more_than_was_read_is_refused,
          test_captured_pages_have_the_records_that_the_kernel_printed)
