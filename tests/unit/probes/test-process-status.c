/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "fixture.h"
#include "probes/proc/process-status.h"

START_TEST(test_status_is_read_by_key) {
        char *text = fixture_read("proc/812/status", NULL);
        ProcessStatus status;

        ck_assert(process_status_parse(&status, text));
        free(text);
        ck_assert_str_eq(status.name, "gnome-shell");
        ck_assert_int_eq(status.tgid, 812);
        ck_assert_uint_eq(status.uid, 1000);
        ck_assert_uint_eq(status.n_nspids, 2);
        ck_assert_int_eq(status.nspids[0], 7);
        ck_assert_int_eq(status.nspids[1], 1);
        ck_assert_int_eq(status.counters.values[PROCESS_VM_SIZE], 51756);
        ck_assert_uint_eq(status.counters.known, (1u << (PROCESS_VM_HWM + 1)) - 1);

        text = fixture_read("proc/2/status", NULL);
        ck_assert(process_status_parse(&status, text));
        free(text);
        ck_assert_uint_eq(status.counters.known, 0);
        ck_assert_uint_eq(status.n_nspids, 0);
}
END_TEST

START_TEST(test_a_status_that_is_cut_off_or_absurd_is_read_as_far_as_it_goes) {
        ProcessStatus status;

        ck_assert(!process_status_parse(&status, ""));
        ck_assert(!process_status_parse(&status, "Name:\tx\n"));
        ck_assert(!process_status_parse(&status, "Tgid:\t-1\n"));
        ck_assert(!process_status_parse(&status, "Tgid:\t99999999999999999999\n"));
        ck_assert(process_status_parse(&status, "Tgid:\t9"));
        ck_assert(process_status_parse(
                &status, "Tgid:\t9\nVmRSS\nVmSwap:\nVmHWM:\t99999999999999999999 kB\nNSpid:"));
        ck_assert_uint_eq(status.n_nspids, 0);
        ck_assert_int_eq(status.counters.values[PROCESS_VM_HWM], INT64_MAX);
        ck_assert(!(status.counters.known & 1u << PROCESS_VM_RSS));
        ck_assert(process_status_parse(
                &status, "Tgid:\t1\nNSpid:\t1 2 3 4 5 6 7 8 9 10 11 12\nName:\ta\\nb\\\\c\n"));
        ck_assert_uint_eq(status.n_nspids, PROCESS_NSPIDS_MAX);
        ck_assert_str_eq(status.name, "a\nb\\c");
        /* The longest names are those of kernel threads. */
        ck_assert(process_status_parse(
                &status,
                "Name:\t0123456789012345678901234567890123456789012345678901234567890123456789\n"
                "Tgid:\t1\n"));
        ck_assert_uint_eq(strlen(status.name), PROCESS_NAME_BYTES - 1);
}
END_TEST

START_TEST(test_names_in_stat_may_hold_anything) {
        ProcessStat stat;

        ck_assert(process_stat_parse(
                &stat, "7 (a) 1 2\n(b) S 3 7 7 0 -1 4 5 6 7 8 11 12 0 0 20 0 6 0 4711 9 9\n"));
        ck_assert_str_eq(stat.name, "a) 1 2\n(b");
        ck_assert_int_eq(stat.ppid, 3);
        ck_assert(!stat.is_kthread);
        ck_assert_uint_eq(stat.user_ticks, 11);
        ck_assert_uint_eq(stat.kernel_ticks, 12);
        ck_assert_uint_eq(stat.n_threads, 6);
        ck_assert_uint_eq(stat.start_ticks, 4711);
        ck_assert(!process_stat_parse(&stat, "7 (a) S 1 2 3"));
        ck_assert(!process_stat_parse(&stat, "7 no name"));
        ck_assert(!process_stat_parse(&stat, "7 )a("));
        ck_assert(!process_stat_parse(&stat, ""));
}
END_TEST

/* Whatever their parent is: in a container 2 is anybody. */
START_TEST(test_kernel_threads_are_known_by_their_flag) {
        char *text = fixture_read("proc/2/stat", NULL);
        ProcessStat stat;

        ck_assert(process_stat_parse(&stat, text));
        free(text);
        ck_assert(stat.is_kthread);
        ck_assert_str_eq(stat.name, "kthreadd");
        ck_assert(process_stat_parse(&stat,
                                     "9 (sh) S 2 9 9 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 7 0\n"));
        ck_assert(!stat.is_kthread);
}
END_TEST

TEST_MAIN("process-status",
          test_status_is_read_by_key,
          test_a_status_that_is_cut_off_or_absurd_is_read_as_far_as_it_goes,
          test_names_in_stat_may_hold_anything,
          test_kernel_threads_are_known_by_their_flag)
