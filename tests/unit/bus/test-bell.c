/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bus/link/bell.h"
#include "shared/fd.h"
#include "test.h"

#define MANY 10000

static bool has_rung(int theirs) {
        struct pollfd poll_fd = { .fd = theirs, .events = POLLIN };

        ck_assert_int_ge(poll(&poll_fd, 1, 0), 0);
        ck_assert_int_eq(poll_fd.revents & ~POLLIN, 0);
        return poll_fd.revents & POLLIN;
}

START_TEST(test_bell_wakes_until_it_is_read) {
        _cleanup_(fd_closep) int ours = -1, theirs = -1;
        uint64_t n;

        ck_assert_int_eq(bell_open(&ours, &theirs), 0);
        ck_assert(!has_rung(theirs));
        bell_ring(ours);
        ck_assert(has_rung(theirs));
        /* As a library reads that expects an eventfd. */
        ck_assert_int_eq(read(theirs, &n, sizeof(n)), 1);
        ck_assert(!has_rung(theirs));
}
END_TEST

/* Would not return if the bell could be made to block. */
START_TEST(test_ringing_never_waits_for_a_producer_that_does_not_read) {
        _cleanup_(fd_closep) int ours = -1, theirs = -1;

        ck_assert_int_eq(bell_open(&ours, &theirs), 0);
        ck_assert_int_eq(fcntl(theirs, F_SETFL, 0), 0); /* without O_NONBLOCK */
        for (unsigned i = 0; i < MANY; i++)
                bell_ring(ours);
        ck_assert(has_rung(theirs));
}
END_TEST

START_TEST(test_producer_can_put_nothing_into_the_bell) {
        _cleanup_(fd_closep) int ours = -1, theirs = -1;

        ck_assert_int_eq(bell_open(&ours, &theirs), 0);
        ck_assert_int_eq(send(theirs, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT), -1);
        ck_assert_int_eq(errno, EPIPE);
}
END_TEST

START_TEST(test_few_rings_wait_in_the_kernel) {
        _cleanup_(fd_closep) int ours = -1, theirs = -1;
        unsigned n = 0;
        char byte;

        ck_assert_int_eq(bell_open(&ours, &theirs), 0);
        for (unsigned i = 0; i < MANY; i++)
                bell_ring(ours);
        while (read(theirs, &byte, 1) == 1)
                n++;
        ck_assert_uint_ge(n, 1);
        ck_assert_uint_le(n, 32);
}
END_TEST

START_TEST(test_bell_of_a_side_that_is_closed_is_silent) {
        _cleanup_(fd_closep) int ours = -1, theirs = -1;

        ck_assert_int_eq(bell_open(&ours, &theirs), 0);
        ours = fd_close(ours);
        ck_assert(!has_rung(theirs)); /* no hang-up either, which would keep a poll awake */
        ck_assert_int_eq(bell_open(&ours, &theirs), 0);
        theirs = fd_close(theirs);
        bell_ring(ours);
}
END_TEST

TEST_MAIN("bell",
          test_bell_wakes_until_it_is_read,
          test_ringing_never_waits_for_a_producer_that_does_not_read,
          test_producer_can_put_nothing_into_the_bell,
          test_few_rings_wait_in_the_kernel,
          test_bell_of_a_side_that_is_closed_is_silent)
