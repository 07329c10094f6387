/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Texts are kept once and stay where they are; what a file has as a name becomes one that can be shown. */

#include "shared/utf8.h"
#include "test.h"
#include "trace/trace-pool.h"

static TracePool pool;

static void setup_pool(void) {
        ck_assert_int_eq(trace_pool_init(&pool), 0);
}

START_TEST(test_the_same_text_has_the_same_number) {
        uint32_t draw, other;

        setup_pool();
        draw = trace_pool_add_text(&pool, "draw");
        other = trace_pool_add_text(&pool, "other");
        ck_assert_uint_ne(draw, 0);
        ck_assert_uint_ne(draw, other);
        ck_assert_uint_eq(trace_pool_add(&pool, "drawn", 4), draw);
        ck_assert_uint_eq(trace_pool_find(&pool, "draw", 4), draw);
        ck_assert_uint_eq(trace_pool_find(&pool, "dra", 3), 0);
        trace_pool_deinit(&pool);
}
END_TEST

START_TEST(test_texts_stay_where_they_are) {
        const char *first;
        uint32_t number;

        setup_pool();
        number = trace_pool_add_text(&pool, "first");
        first = trace_pool_text(&pool, number);
        for (unsigned i = 0; i < 50000; i++)
                ck_assert_uint_ne(trace_pool_add_format(&pool, "text %u", i), 0);
        ck_assert_ptr_eq(trace_pool_text(&pool, number), first);
        ck_assert_str_eq(first, "first");
        trace_pool_deinit(&pool);
}
END_TEST

START_TEST(test_what_is_no_text_becomes_one) {
        static const char bad[] = { 'a', (char)0xff, '\0', (char)0xc3, 'b' };
        uint32_t number;

        setup_pool();
        number = trace_pool_add(&pool, bad, sizeof(bad));
        ck_assert_uint_ne(number, 0);
        ck_assert_uint_eq(trace_pool_length(&pool, number), sizeof(bad));
        ck_assert_uint_eq(strlen(trace_pool_text(&pool, number)), sizeof(bad));
        ck_assert(utf8_is_valid((const uint8_t *)trace_pool_text(&pool, number), sizeof(bad)));
        trace_pool_deinit(&pool);
}
END_TEST

START_TEST(test_no_text_and_an_empty_one_differ) {
        uint32_t empty;

        setup_pool();
        empty = trace_pool_add(&pool, NULL, 0);
        ck_assert_uint_ne(empty, 0);
        ck_assert_str_eq(trace_pool_text(&pool, empty), "");
        ck_assert_ptr_null(trace_pool_text(&pool, 0));
        trace_pool_deinit(&pool);
}
END_TEST

START_TEST(test_a_long_text_is_cut) {
        char *text = calloc(1, TRACE_POOL_TEXT_MAX + 100);
        uint32_t number;

        setup_pool();
        memset(text, 'x', TRACE_POOL_TEXT_MAX + 99);
        number = trace_pool_add_text(&pool, text);
        ck_assert_uint_eq(trace_pool_length(&pool, number), TRACE_POOL_TEXT_MAX);
        trace_pool_deinit(&pool);
        free(text);
}
END_TEST

START_TEST(test_past_the_limit_texts_are_refused_and_counted) {
        uint32_t before;

        setup_pool();
        before = trace_pool_add_text(&pool, "before");
        pool.n_bytes = TRACE_POOL_BYTES_MAX - 2; /* as if so much had been added */
        ck_assert_uint_eq(trace_pool_add_text(&pool, "behind"), 0);
        ck_assert_uint_eq(pool.n_refused, 1);
        ck_assert_uint_eq(trace_pool_add_text(&pool, "before"), before);
        trace_pool_deinit(&pool);
}
END_TEST

TEST_MAIN("trace-pool",
          test_the_same_text_has_the_same_number,
          test_texts_stay_where_they_are,
          test_what_is_no_text_becomes_one,
          test_no_text_and_an_empty_one_differ,
          test_a_long_text_is_cut,
          test_past_the_limit_texts_are_refused_and_counted)
