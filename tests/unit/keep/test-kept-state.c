/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is kept of a session is read as it was written, or not at all. */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "keep/kept-state.h"
#include "shared/fd.h"
#include "test.h"

static KeptSession a_session(uint64_t id, const char *config) {
        return (KeptSession){
                .id = id, .started_at = 5, .uid = 1000, .n_config = (uint32_t)strlen(config)
        };
}

static void write_session(KeptState *state, uint64_t id, const char *config) {
        KeptSession session = a_session(id, config);

        ck_assert_int_eq(kept_state_write(state, &session, config, NULL), 0);
}

/* As the next process has it. */
static void find(KeptState *ret, const KeptState *state) {
        ck_assert_int_eq(kept_state_find(ret, fcntl(state->fd, F_DUPFD_CLOEXEC, 3)), 0);
}

static void check_session(const KeptState *state, uint64_t id, const char *config) {
        KeptSession session;
        uint8_t *bytes;

        ck_assert_int_eq(kept_state_read(state, &session, &bytes), 0);
        ck_assert_uint_eq(session.id, id);
        ck_assert_uint_eq(session.n_config, strlen(config));
        ck_assert(memcmp(bytes, config, strlen(config)) == 0);
        free(bytes);
}

START_TEST(test_next_process_reads_what_was_written_last) {
        KeptState state, found;

        ck_assert_int_eq(kept_state_new(&state), 0);
        for (uint64_t id = 1; id < 6; id++) {
                write_session(&state, id, id % 2 ? "a config" : "another, which is longer");
                kept_state_set_alive(&state, 10 * id);
                find(&found, &state);
                check_session(&found, id, id % 2 ? "a config" : "another, which is longer");
                ck_assert_uint_eq(kept_state_alive(&found), 10 * id);
                kept_state_deinit(&found);
        }
        kept_state_deinit(&state);
}
END_TEST

START_TEST(test_state_without_a_record_is_broken) {
        KeptSession session;
        KeptState state;
        uint8_t *bytes;

        ck_assert_int_eq(kept_state_new(&state), 0);
        ck_assert_int_eq(kept_state_read(&state, &session, &bytes), KEPT_STATE_E_BROKEN);
        kept_state_deinit(&state);
}
END_TEST

/* Every byte in turn is another one: the record is as it was, or it is refused. */
START_TEST(test_record_in_which_a_byte_is_wrong_is_refused) {
        KeptState state;
        size_t n_refused = 0;

        ck_assert_int_eq(kept_state_new(&state), 0);
        write_session(&state, 7, "a config");
        for (off_t i = 0; i < (off_t)sizeof(KeptSession) + 60; i++) {
                const off_t at = (64 << 10) + i;
                KeptSession session;
                uint8_t byte, other, *bytes;
                int r;

                ck_assert_int_eq(pread(state.fd, &byte, 1, at), 1);
                other = byte ^ 0x40;
                ck_assert_int_eq(pwrite(state.fd, &other, 1, at), 1);
                r = kept_state_read(&state, &session, &bytes);
                ck_assert(r == 0 || r == KEPT_STATE_E_BROKEN);
                if (r == 0) {
                        ck_assert_uint_eq(session.id, 7);
                        ck_assert(memcmp(bytes, "a config", 8) == 0);
                        free(bytes);
                }
                n_refused += r != 0;
                ck_assert_int_eq(pwrite(state.fd, &byte, 1, at), 1);
        }
        ck_assert_uint_ge(n_refused, sizeof(KeptSession) + 16);
        check_session(&state, 7, "a config");
        kept_state_deinit(&state);
}
END_TEST

START_TEST(test_file_that_is_no_state_is_refused_and_stays) {
        KeptState found;
        int fd;

        ck_assert_int_eq(kept_state_find(&found, -1), KEPT_STATE_E_BROKEN);
        ck_assert_int_eq(fd_new_sealed_memfd(&fd, "small", 100), 0);
        ck_assert_int_eq(kept_state_find(&found, fd), KEPT_STATE_E_BROKEN);
        fd_close(fd);
        ck_assert_int_eq(fd_new_sealed_memfd(&fd, "large", 16u << 20), 0);
        ck_assert_int_eq(kept_state_find(&found, fd), KEPT_STATE_E_BROKEN);
        ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
        fd_close(fd);
}
END_TEST

START_TEST(test_state_of_another_version_is_named_so) {
        const uint32_t layout = 77;
        KeptState state, found;

        ck_assert_int_eq(kept_state_new(&state), 0);
        ck_assert_int_eq(pwrite(state.fd, &layout, sizeof(layout), 8), sizeof(layout));
        ck_assert_int_eq(kept_state_find(&found, state.fd), KEPT_STATE_E_LAYOUT);
        kept_state_deinit(&state);
}
END_TEST

START_TEST(test_tries_are_counted_until_one_succeeds) {
        KeptState state, found;

        ck_assert_int_eq(kept_state_new(&state), 0);
        ck_assert_uint_eq(kept_state_try(&state), 1);
        find(&found, &state);
        ck_assert_uint_eq(kept_state_try(&found), 2);
        kept_state_succeed(&found);
        ck_assert_uint_eq(kept_state_try(&state), 1);
        kept_state_deinit(&found);
        kept_state_deinit(&state);
}
END_TEST

START_TEST(test_config_that_is_too_large_is_refused) {
        KeptSession session = { .n_config = CONFIG_BYTES_MAX + 1 };
        KeptState state;

        ck_assert_int_eq(kept_state_new(&state), 0);
        ck_assert_int_lt(kept_state_write(&state, &session, NULL, NULL), 0);
        kept_state_deinit(&state);
}
END_TEST

TEST_MAIN("kept-state",
          test_next_process_reads_what_was_written_last,
          test_state_without_a_record_is_broken,
          test_record_in_which_a_byte_is_wrong_is_refused,
          test_file_that_is_no_state_is_refused_and_stays,
          test_state_of_another_version_is_named_so,
          test_tries_are_counted_until_one_succeeds,
          test_config_that_is_too_large_is_refused)
