/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What hits tell, and of whom they are believed. */

#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/packet-list.h"
#include "probes/points/point-writer.h"

#define START      UINT64_C(1000000000)
#define NOBODY     65534
#define TRACK_NAME 2

static const Point told = { .group = "toy",
                            .label = "told",
                            .category = "toy",
                            .meaning = POINT_INSTANT,
                            .process = 0,
                            .surface = -1,
                            .arguments = { { .name = "pid", .type = POINT_U32 } },
                            .n_arguments = 1 };

static PacketList list;
static PointSite site = { .points = { &told }, .n_points = 1 };
static PointEvents events = { .sites = &site, .n_sites = 1 };

/* A process of nobody's that does nothing. */
static pid_t start_teller(void) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid > 0)
                return pid;
        if (setuid(NOBODY) < 0)
                _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
                pause();
}

static bool has_user(pid_t pid, uid_t uid) {
        _cleanup_(program_names_deinit) ProgramNames names = {};

        ck_assert_int_eq(program_names_init(&names), 0);
        return program_name(&names, pid, START)->uid == uid;
}

/* Whether a hit of `teller` that is about the process is on a track of that. */
static bool is_believed(pid_t teller, pid_t about) {
        PointRecord record = { .at_ns = START, .tid = teller, .numbers = { (uint64_t)about } };
        PointWriter writer;
        WireReader message;
        bool has_track = false;

        list = (PacketList)PACKET_LIST_INIT;
        ck_assert_int_eq(point_writer_init(&writer, &list.sink, &events, 0), 0);
        writer.programs.names.are_foreign = false; /* in any pid namespace */
        point_writer_take(&writer, &record);
        ck_assert(packet_list_find(&list, PACKET_TRACK_EVENT, 0, &message));
        for (size_t i = 0; packet_list_find(&list, PACKET_TRACK_DESCRIPTOR, i, &message); i++)
                has_track |= message_has_text(message, TRACK_NAME, "toy");
        point_writer_deinit(&writer);
        packet_list_deinit(&list);
        return has_track;
}

START_TEST(test_only_root_speaks_for_processes_of_others) {
        pid_t teller;

        if (getuid() != 0) {
                test_skip("needs root, to be another user");
                return;
        }
        teller = start_teller();
        while (!has_user(teller, NOBODY))
                usleep(1000);
        ck_assert(is_believed(teller, teller));
        ck_assert(!is_believed(teller, getpid()));
        ck_assert(is_believed(getpid(), teller));
        ck_assert_int_eq(kill(teller, SIGKILL), 0);
        ck_assert_int_eq(waitpid(teller, NULL, 0), teller);
        ck_assert(!is_believed(getpid(), teller));
}
END_TEST

/* Beyond PID_MAX_LIMIT there are none. */
START_TEST(test_the_names_read_at_a_time_are_limited) {
        ProgramNames names = {};
        const pid_t first = 1 << 23;

        ck_assert_int_eq(program_names_init(&names), 0);
        ck_assert_int_eq(program_name(&names, getpid(), START)->pid, getpid());
        for (pid_t tid = first; tid < first + PROGRAM_NAMES_READ - 1; tid++)
                ck_assert_int_eq(program_name(&names, tid, START)->pid, tid);
        ck_assert_int_eq(program_name(&names, first - 1, START)->pid, 0);
        ck_assert_str_eq(program_name(&names, first - 1, START)->process, "unknown process");
        /* In the past, too, and of those that are known nothing is lost. */
        ck_assert_int_eq(program_name(&names, first - 1, START - PROGRAM_MOMENT_NS)->pid, 0);
        ck_assert_int_eq(program_name(&names, getpid(), START)->pid, getpid());
        ck_assert_int_eq(program_name(&names, first - 1, START + 2 * PROGRAM_MOMENT_NS)->pid,
                         first - 1);
        program_names_deinit(&names);
}
END_TEST

/* As with colliding numbers: neither makes the other be read again. */
START_TEST(test_names_at_one_place_are_all_kept) {
        ProgramNames names = {};
        const pid_t first = 1 << 23;

        ck_assert_int_eq(program_names_init(&names), 0);
        for (unsigned round = 0; round < 100; round++)
                for (pid_t i = 0; i < 8; i++)
                        (void)program_name(&names, first + i * PROGRAM_NAMES_MAX, START + round);
        ck_assert_uint_eq(names.n_read, 8);
        program_names_deinit(&names);
}
END_TEST

/* As after a definition of which the kernel took only one half. */
START_TEST(test_a_place_without_points_is_no_harm) {
        static PointSite empty;
        static const PointEvents none = { .sites = &empty, .n_sites = 1 };
        PointRecord record = { .at_ns = START, .tid = getpid() };
        PointWriter writer;

        list = (PacketList)PACKET_LIST_INIT;
        ck_assert_int_eq(point_writer_init(&writer, &list.sink, &none, 0), 0);
        point_writer_take(&writer, &record);
        ck_assert_uint_eq(list.n, 0);
        point_writer_deinit(&writer);
        packet_list_deinit(&list);
}
END_TEST

TEST_MAIN("probes-points-writer",
          test_only_root_speaks_for_processes_of_others,
          test_the_names_read_at_a_time_are_limited,
          test_names_at_one_place_are_all_kept,
          test_a_place_without_points_is_no_harm)
