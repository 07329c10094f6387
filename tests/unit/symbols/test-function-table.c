/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "symbols/function-table.h"
#include "test.h"

static void
add(FunctionTable *table, uint64_t start, uint64_t end, const char *name, FunctionRank rank) {
        const Function function = {
                .start = start, .end = end, .name = name, .rank = rank, .has_size = true
        };

        ck_assert(function_table_add(table, &function));
}

static void add_endless(FunctionTable *table, uint64_t start, uint64_t limit, const char *name) {
        const Function function = {
                .start = start, .end = limit, .name = name, .rank = FUNCTION_GLOBAL
        };

        ck_assert(function_table_add(table, &function));
}

static void check(FunctionTable *table, uint64_t address, const char *wanted) {
        const Function *function = function_table_find(table, address);

        if (wanted)
                ck_assert_pstr_eq(function ? function->name : NULL, wanted);
        else
                ck_assert_msg(!function,
                              "%#llx is in %s",
                              (unsigned long long)address,
                              function ? function->name : "");
}

START_TEST(test_address_behind_a_function_is_in_none) {
        FunctionTable table = { 0 };

        check(&table, 0, NULL);
        add(&table, 100, 120, "b", FUNCTION_GLOBAL);
        add(&table, 10, 20, "a", FUNCTION_GLOBAL);
        check(&table, 9, NULL);
        check(&table, 10, "a");
        check(&table, 19, "a");
        check(&table, 20, NULL);
        check(&table, 99, NULL);
        check(&table, 119, "b");
        check(&table, UINT64_MAX, NULL);
        function_table_deinit(&table);
}
END_TEST

START_TEST(test_function_without_a_size_reaches_to_the_next) {
        FunctionTable table = { 0 };

        add_endless(&table, 10, 100, "a");
        add(&table, 50, 60, "b", FUNCTION_LOCAL);
        check(&table, 49, "a");
        check(&table, 50, "b");
        check(&table, 60, NULL);
        add_endless(&table, 80, 100, "c");
        check(&table, 99, "c");
        check(&table, 100, NULL);
        function_table_deinit(&table);
}
END_TEST

START_TEST(test_of_several_names_the_public_one_is_shown) {
        FunctionTable table = { 0 };

        add(&table, 10, 20, "__libc_a", FUNCTION_GLOBAL);
        add(&table, 10, 20, "chooser", FUNCTION_RESOLVER);
        add(&table, 10, 20, "a", FUNCTION_GLOBAL);
        add(&table, 10, 20, "a64", FUNCTION_GLOBAL);
        add(&table, 10, 20, "a_weak", FUNCTION_WEAK);
        check(&table, 15, "a");
        function_table_deinit(&table);
}
END_TEST

START_TEST(test_inner_function_wins_within_its_bounds) {
        FunctionTable table = { 0 };

        add(&table, 10, 100, "outer", FUNCTION_GLOBAL);
        add(&table, 40, 50, "inner", FUNCTION_LOCAL);
        check(&table, 45, "inner");
        check(&table, 60, "outer");
        function_table_deinit(&table);
}
END_TEST

TEST_MAIN("symbols-function-table",
          test_address_behind_a_function_is_in_none,
          test_function_without_a_size_reaches_to_the_next,
          test_of_several_names_the_public_one_is_shown,
          test_inner_function_wins_within_its_bounds)
