/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a grant allows, and nothing else: the same data source, once, for one session, soon. */

#include <check.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes/grant.h"
#include "shared/bytes.h"
#include "test.h"
#include "wire/wire-writer.h"

#define NOW     UINT64_C(1000000000000)
#define SESSION 42

#define CONFIG                                                         \
        "buffers { size_kb: 64 } duration_ms: 2000 "                   \
        "data_sources { config { name: \"linux.ftrace\" "              \
        "ftrace_config { ftrace_events: \"sched/sched_switch\" } } } " \
        "data_sources { config { name: \"linux.sys_stats\" } }"

static GrantBook *book;
static Config *config;
static char directory[] = "/tmp/test-grant-XXXXXX";

static void begin(void) {
        ConfigError error = {};

        ck_assert_ptr_nonnull(mkdtemp(strcpy(directory, "/tmp/test-grant-XXXXXX")));
        ck_assert_int_eq(grant_book_new(&book, directory, NOW), 0);
        ck_assert_int_eq(config_new_from_text(&config, CONFIG, &error), 0);
}

static unsigned n_files(void) {
        DIR *dir = opendir(directory);
        struct dirent *entry;
        unsigned n = 0;

        ck_assert_ptr_nonnull(dir);
        while ((entry = readdir(dir)))
                n += entry->d_name[0] != '.';
        closedir(dir);
        return n;
}

static void end(void) {
        book = grant_book_free(book);
        config = config_free(config);
        ck_assert_int_eq(rmdir(directory), 0);
}

/* What the service sends for a data source: its bytes, and its own fields behind them. */
static int
take_with(GrantUse **ret, size_t source, uint64_t session, uint32_t extra_field, uint64_t now) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        uint8_t memory[64];
        WireWriter writer;

        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_uint(&writer, 2, 7);
        wire_put_uint(&writer, 3, 2000);
        wire_put_uint(&writer, 4, session);
        wire_put_uint(&writer, 7, 5000);
        if (extra_field)
                wire_put_uint(&writer, extra_field, 1);
        ck_assert_int_eq(bytes_append(&bytes,
                                      config->sources[source].bytes,
                                      config->sources[source].n_bytes),
                         0);
        ck_assert_int_eq(bytes_append(&bytes, memory, wire_writer_size(&writer)), 0);
        return grant_use_new(ret, book, bytes.data, bytes.n, now);
}

static const GrantOwner machine = { .owner = { 1000, 1001 } };

static int take(GrantUse **ret, size_t source, uint64_t session, uint64_t now) {
        return take_with(ret, source, session, 0, now);
}

START_TEST(test_nothing_is_recorded_without_a_grant) {
        GrantUse *use;

        begin();
        ck_assert_int_eq(take(&use, 0, SESSION, NOW), GRANT_E_NONE);
        ck_assert_uint_eq(n_files(), 0);
        end();
}
END_TEST

START_TEST(test_each_source_of_a_grant_records_once) {
        GrantUse *first, *second, *again;

        begin();
        ck_assert_int_eq(grant_book_add(book, config, &machine, NOW), 0);
        ck_assert_int_eq(take(&first, 0, SESSION, NOW), 0);
        ck_assert_int_eq(take(&second, 1, SESSION, NOW), 0);
        ck_assert_int_eq(take(&again, 0, SESSION, NOW), GRANT_E_NONE);
        grant_use_free(first);
        ck_assert_int_eq(take(&again, 0, SESSION, NOW), GRANT_E_NONE);
        grant_use_free(second);
        end();
}
END_TEST

START_TEST(test_a_grant_is_of_one_session) {
        GrantUse *use, *other;

        begin();
        ck_assert_int_eq(grant_book_add(book, config, &machine, NOW), 0);
        ck_assert_int_eq(take(&use, 0, 0, NOW), GRANT_E_NONE); /* none at all */
        ck_assert_int_eq(take(&use, 0, SESSION, NOW), 0);
        ck_assert_int_eq(take(&other, 1, SESSION + 1, NOW), GRANT_E_NONE);
        ck_assert_int_eq(take(&other, 1, SESSION, NOW), 0);
        grant_use_free(use);
        grant_use_free(other);
        end();
}
END_TEST

START_TEST(test_nothing_may_be_added_to_what_was_granted) {
        static const uint32_t fields[] = { 1, 8, 100, 103, 1900 };
        _cleanup_(bytes_deinit) Bytes bytes = {};
        GrantUse *use;

        begin();
        ck_assert_int_eq(grant_book_add(book, config, &machine, NOW), 0);
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                ck_assert_int_eq(take_with(&use, 0, SESSION, fields[i], NOW), GRANT_E_NONE);
        /* Nor left out, nor changed. */
        ck_assert_int_eq(bytes_append(&bytes, config->sources[0].bytes, config->sources[0].n_bytes),
                         0);
        ck_assert_int_eq(grant_use_new(&use, book, bytes.data, bytes.n - 1, NOW), GRANT_E_NONE);
        bytes.data[bytes.n - 1] ^= 1;
        ck_assert_int_eq(grant_use_new(&use, book, bytes.data, bytes.n, NOW), GRANT_E_NONE);
        ck_assert_int_eq(take(&use, 0, SESSION, NOW), 0);
        grant_use_free(use);
        end();
}
END_TEST

START_TEST(test_a_grant_that_is_not_used_is_forgotten) {
        GrantUse *use;

        begin();
        ck_assert_int_eq(grant_book_add(book, config, &machine, NOW), 0);
        ck_assert_int_eq(take(&use, 0, SESSION, NOW + GRANT_WAIT_NS), GRANT_E_NONE);
        end();
}
END_TEST

START_TEST(test_their_number_is_limited) {
        begin();
        for (unsigned i = 0; i < GRANTS_MAX / 2; i++)
                ck_assert_int_eq(grant_book_add(book, config, &machine, NOW), 0);
        ck_assert_int_eq(grant_book_add(book, config, &machine, NOW), GRANT_E_LIMIT);
        ck_assert_int_eq(grant_book_add(book, config, &machine, NOW + GRANT_WAIT_NS), 0);
        end();
}
END_TEST

START_TEST(test_it_records_no_longer_than_was_said) {
        GrantUse *use;

        begin();
        ck_assert_int_eq(grant_book_add(book, config, &machine, NOW), 0);
        ck_assert_int_eq(take(&use, 0, SESSION, NOW), 0);
        ck_assert_uint_eq(grant_use_longest_ns(use), UINT64_C(2000000000) + GRANT_SLACK_NS);
        grant_use_free(use);
        end();
}
END_TEST

START_TEST(test_what_was_recorded_before_a_crash_goes_on) {
        GrantUse *use, *other;
        GrantBook *crashed;

        begin();
        crashed = book;
        ck_assert_int_eq(grant_book_add(book, config, &machine, NOW), 0);
        ck_assert_int_eq(take(&use, 0, SESSION, NOW), 0);
        ck_assert_uint_eq(n_files(), 1);

        ck_assert_int_eq(grant_book_new(&book, directory, NOW), 0);
        ck_assert_uint_eq(n_files(), 0);
        ck_assert_int_eq(take(&other, 1, SESSION, NOW), GRANT_E_NONE);
        ck_assert_int_eq(take(&other, 0, SESSION + 1, NOW), GRANT_E_NONE);
        ck_assert_int_eq(take(&other, 0, SESSION, NOW), 0);
        ck_assert_uint_eq(grant_use_longest_ns(other), UINT64_C(2000000000) + GRANT_SLACK_NS);
        ck_assert_uint_eq(grant_use_owner(other).uid, 1000);
        ck_assert_uint_eq(grant_use_owner(other).gid, 1001);
        ck_assert_uint_eq(n_files(), 1);
        grant_use_free(other);
        ck_assert_uint_eq(n_files(), 0);
        grant_use_free(use);
        grant_book_free(crashed);
        end();
}
END_TEST

START_TEST(test_for_ones_own_programs_nothing_else_is_granted) {
        static const GrantOwner own = { .owner = { 1000, 1001 }, .is_own_only = true };
        GrantUse *use;

        begin();
        ck_assert(!grant_is_own_only(config));
        ck_assert_int_eq(grant_book_add(book, config, &own, NOW), 0);
        ck_assert_int_eq(take(&use, 0, SESSION, NOW), GRANT_E_NONE);
        ck_assert_int_eq(take(&use, 1, SESSION, NOW), GRANT_E_NONE);
        end();
}
END_TEST

TEST_MAIN("grant",
          test_nothing_is_recorded_without_a_grant,
          test_each_source_of_a_grant_records_once,
          test_a_grant_is_of_one_session,
          test_nothing_may_be_added_to_what_was_granted,
          test_a_grant_that_is_not_used_is_forgotten,
          test_their_number_is_limited,
          test_it_records_no_longer_than_was_said,
          test_what_was_recorded_before_a_crash_goes_on,
          test_for_ones_own_programs_nothing_else_is_granted)
