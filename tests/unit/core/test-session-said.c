/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a session's output has, as the next service finds it, may be ahead of what the state says. */

#include "restore-world.h"

/* How often a note stands in what a read returns. */
static size_t count_notes(Session *session) {
        static const char text[] = "the service was away";
        Bytes trace = read_session(session);
        size_t n = 0;

        for (const uint8_t *at = trace.data;
             (at = memmem(at, trace.n - (size_t)(at - trace.data), text, sizeof(text) - 1));
             at++)
                n++;
        bytes_deinit(&trace);
        return n;
}

/* The process before was killed when it had said something, and not yet written into its state that it had. */
START_TEST(test_what_the_output_has_is_not_said_again) {
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        FakeConsumer consumer = {};
        Session *session;

        replace_service(1 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        consumer.session = session;
        former = leave(&consumer, &buffer);
        ck_assert_uint_eq(former.said, 0);
        ck_assert_uint_eq(count_notes(session), 1);
        former.said = session_said(session);
        session_free(session);

        replace_service(1 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        ck_assert_uint_eq(session_n_notes(session), 2);
        ck_assert_uint_eq(count_notes(session), 1); /* the second time */
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_an_output_cannot_say_more_than_there_is) {
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        Session *session;
        uint64_t said;

        former.said = UINT64_MAX; /* there are fewer notes and sequences */
        replace_service(1 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        ck_assert_uint_eq(count_notes(session), 1);
        said = session_said(session);
        ck_assert_uint_lt(said >> 32, UINT32_MAX / 2 + 10); /* and a few of its own */
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-said",
          test_what_the_output_has_is_not_said_again,
          test_an_output_cannot_say_more_than_there_is)
