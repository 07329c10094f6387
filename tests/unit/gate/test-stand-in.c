/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "closer/closer.h"
#include "gate/stand-in.h"
#include "shared/fd.h"
#include "test.h"
#include "world.h"

#define ROOM 1024

static uint8_t message[ROOM];
static int passed[64];

/* What the closer closes. */
static atomic_uint n_closed;
static sem_t may_go_on;

static int close_and_count(int fd) {
        n_closed++;
        return close(fd);
}

static int close_when_told(int fd) {
        while (sem_wait(&may_go_on) < 0)
                ; /* interrupted, as what lingers is */
        return close(fd);
}

/* A message with that many descriptors, as it says; what comes out is in passed. */
static size_t pass(GateWorld *world, unsigned n_fds, const char *sender) {
        const size_t n = make_message(message, 8, n_fds, sender);
        uint8_t received[ROOM];
        int fds[64];
        size_t n_passed;

        for (unsigned i = 0; i < n_fds; i++)
                fds[i] = some_file();
        send_with_fds(world->peer, message, n, fds, n_fds);
        for (unsigned i = 0; i < n_fds; i++)
                fd_close(fds[i]);
        gate_world_run(world);
        receive(world->service, received, sizeof(received), passed, &n_passed);
        return n_passed;
}

START_TEST(test_service_gets_stand_ins_and_takes_what_they_stand_for) {
        const int file = some_file();
        const size_t n = make_message(message, 8, 2, NULL);
        const int fds[] = { file, file };
        uint8_t received[ROOM];
        GateWorld world;
        size_t n_passed;
        int real;

        gate_world_begin(&world, NULL);
        send_with_fds(world.peer, message, n, fds, 2);
        gate_world_run(&world);
        ck_assert_uint_eq(receive(world.service, received, ROOM, passed, &n_passed), n);
        ck_assert_mem_eq(received, message, n);
        ck_assert_uint_eq(n_passed, 2);
        for (size_t i = 0; i < 2; i++) {
                ck_assert(!is_same_file(passed[i], file));
                ck_assert_int_eq(stand_in_take(&real, passed[i]), 0);
                ck_assert(is_same_file(real, file));
                ck_assert_int_eq(stand_in_take(&real, passed[i]), -EBADF);
                fd_close(real);
                fd_close(passed[i]);
        }
        ck_assert_int_eq(stand_in_take(&real, file), -EBADF);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_what_nobody_takes_is_closed_by_the_closer) {
        GateWorld world;

        closer_replace(close_and_count);
        gate_world_begin(&world, NULL);
        ck_assert_uint_eq(pass(&world, 3, NULL), 3);
        gate_world_run(&world);
        ck_assert_uint_eq(n_closed, 0);
        for (size_t i = 0; i < 3; i++)
                fd_close(passed[i]);
        gate_world_run(&world);
        closer_replace(close_and_count); /* waits */
        ck_assert_uint_eq(n_closed, 3);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_what_the_service_never_read_is_closed_by_the_closer) {
        const size_t n = make_message(message, 8, 1, NULL);
        const int file = some_file();
        GateWorld world;

        closer_replace(close_and_count);
        gate_world_begin(&world, NULL);
        send_with_fds(world.peer, message, n, &file, 1);
        gate_world_run(&world);
        send_with_fds(world.peer, message, n - 1, &file, 1); /* unfinished */
        gate_world_run(&world);
        gate_world_leave(&world);
        gate_world_run(&world);
        closer_replace(close_and_count);
        ck_assert_uint_eq(n_closed, 2);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_descriptors_that_are_not_as_many_as_said_end_the_connection) {
        const size_t n = make_message(message, 8, 1, NULL);
        const int fds[] = { some_file(), some_file() };
        GateWorld world;

        closer_replace(close_and_count);
        gate_world_begin(&world, NULL);
        send_with_fds(world.peer, message, n, fds, 2);
        gate_world_run(&world);
        ck_assert(has_ended(world.peer));
        gate_world_end(&world);
        closer_replace(close_and_count);
        ck_assert_uint_eq(n_closed, 2);
}
END_TEST

START_TEST(test_too_many_descriptors_end_the_connection) {
        GateWorld world;

        closer_replace(close_and_count);
        gate_world_begin(&world, NULL);
        ck_assert_uint_eq(pass(&world, GATE_FDS_MAX, NULL), GATE_FDS_MAX);
        ck_assert_uint_eq(pass(&world, GATE_FDS_MAX + 1, NULL), 0);
        ck_assert(has_ended(world.peer));
        gate_world_end(&world);
        closer_replace(close_and_count);
        ck_assert_uint_eq(n_closed, GATE_FDS_MAX + 1);
}
END_TEST

START_TEST(test_stand_ins_of_a_user_are_bounded_whatever_its_uids) {
        GateWorld world, subordinate;
        size_t n = 0;

        gate_world_begin(&world, NULL);
        gate_world_begin_subordinate(&subordinate, NULL);
        while (pass(n % 2 == 0 ? &world : &subordinate, 1, NULL) == 1)
                ck_assert_uint_le(++n, STAND_INS_PER_USER_MAX);
        ck_assert_uint_eq(n, STAND_INS_PER_USER_MAX);
        ck_assert_uint_eq(pass(&subordinate, 1, NULL), 0);
        ck_assert(has_ended(world.peer));
        ck_assert(has_ended(subordinate.peer));
        gate_world_end(&world);
        gate_world_end(&subordinate);
}
END_TEST

START_TEST(test_descriptors_of_the_service_arrive_themselves) {
        const size_t n = make_message(message, 8, 1, NULL);
        const int file = some_file();
        uint8_t received[ROOM];
        GateWorld world;
        size_t n_passed;

        gate_world_begin(&world, NULL);
        /* Each message keeps its own, also when several are read together. */
        send_all(world.service, message, make_message(message, 8, 0, NULL));
        make_message(message, 8, 1, NULL);
        send_with_fds(world.service, message, n, &file, 1);
        gate_world_run(&world);
        make_message(message, 8, 0, NULL);
        ck_assert_uint_gt(
                receive(world.peer, received, make_message(message, 8, 0, NULL), passed, &n_passed),
                0);
        ck_assert_uint_eq(n_passed, 0);
        ck_assert_uint_eq(receive(world.peer, received, ROOM, passed, &n_passed), n);
        ck_assert_uint_eq(n_passed, 1);
        ck_assert(is_same_file(passed[0], file));
        gate_world_end(&world);
}
END_TEST

START_TEST(test_whose_files_cannot_be_closed_may_pass_no_more) {
        GateWorld world;

        sem_init(&may_go_on, 0, 0);
        closer_replace(close_when_told);
        gate_world_begin(&world, NULL);
        for (size_t i = 0; i < CLOSER_PENDING_MAX; i++)
                closer_close(ALICE, some_file());
        ck_assert_uint_eq(pass(&world, 1, NULL), 0);
        ck_assert(has_ended(world.peer));
        gate_world_end(&world);
        for (size_t i = 0; i < CLOSER_PENDING_MAX + 1; i++)
                sem_post(&may_go_on);
        closer_replace(NULL);
}
END_TEST

/*
 * The message bus
 */

START_TEST(test_senders_on_the_bus_are_told_apart) {
        GateWorld world;
        int real;

        gate_world_begin_bus(&world);
        world.known = ":1.7";
        ck_assert_uint_eq(pass(&world, 1, ":1.7"), 1);
        ck_assert_int_eq(stand_in_take(&real, passed[0]), 0);
        ck_assert_uint_eq(pass(&world, 0, ":1.8"), 0);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_bus_goes_on_behind_a_message_of_somebody_who_is_gone) {
        uint8_t received[ROOM];
        GateWorld world;
        size_t n;

        closer_replace(close_and_count);
        gate_world_begin_bus(&world);
        ck_assert_uint_eq(pass(&world, 1, ":1.9"), 0);
        n = make_message(message, 8, 0, ":1.9");
        send_all(world.peer, message, n);
        gate_world_run(&world);
        ck_assert_uint_eq(receive(world.service, received, ROOM, NULL, NULL), n);
        ck_assert(!gate_is_over(world.gate));
        closer_replace(close_and_count);
        ck_assert_uint_eq(n_closed, 0); /* never taken */
        gate_world_end(&world);
}
END_TEST

START_TEST(test_bus_goes_on_behind_a_message_that_is_too_long) {
        static uint8_t large[GATE_MESSAGE_BYTES_MAX + ROOM];
        const size_t n_large = make_message(large, GATE_MESSAGE_BYTES_MAX, 0, ":1.9");
        uint8_t received[ROOM];
        GateWorld world;
        size_t n;

        gate_world_begin_bus(&world);
        for (size_t at = 0; at < n_large;) {
                ssize_t n_sent = write(world.peer, large + at, n_large - at);

                at += n_sent > 0 ? (size_t)n_sent : 0;
                gate_world_run(&world);
        }
        ck_assert_uint_eq(receive(world.service, received, ROOM, NULL, NULL), 0);
        n = make_message(message, 8, 0, ":1.9");
        send_all(world.peer, message, n);
        gate_world_run(&world);
        ck_assert_uint_eq(receive(world.service, received, ROOM, NULL, NULL), n);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_bus_waits_until_it_is_known_whose_descriptors_come) {
        const size_t n = make_message(message, 8, 1, ":1.9");
        const GateAnswer answer = { .is_wanted = true, .user = ALICE };
        const int file = some_file();
        uint8_t received[2 * ROOM];
        GateWorld world;
        size_t n_passed;

        gate_world_begin_bus(&world);
        world.answers_later = true;
        send_with_fds(world.peer, message, n, &file, 1);
        send_all(world.peer, message, make_message(message, 24, 0, ":1.9"));
        gate_world_run(&world);
        ck_assert_uint_eq(receive(world.service, received, sizeof(received), NULL, NULL), 0);
        ck_assert_str_eq(world.question.sender, ":1.9");
        ck_assert(!world.question.is_refused);
        gate_answer(world.gate, &answer);
        gate_world_run(&world);
        ck_assert_uint_eq(receive(world.service, received, sizeof(received), passed, &n_passed), n);
        ck_assert_uint_eq(n_passed, 1);
        ck_assert_uint_eq(receive(world.service, received, sizeof(received), NULL, NULL),
                          make_message(message, 24, 0, ":1.9"));
        gate_world_end(&world);
}
END_TEST

/* Sends that many messages without descriptors; what they are is appended to *ret. */
static size_t send_plain(GateWorld *world, uint8_t *ret, size_t n_messages) {
        size_t n = 0;

        for (size_t i = 0; i < n_messages; i++) {
                const size_t n_this = make_message(ret + n, i * 3, 0, ":1.9");

                send_all(world->peer, ret + n, n_this);
                n += n_this;
        }
        return n;
}

START_TEST(test_bus_passes_many_messages_and_keeps_descriptors_with_theirs) {
        static uint8_t sent[32 * ROOM], received[32 * ROOM];
        const int file = some_file();
        size_t n_before, n_with, n_all, n_passed, n;
        GateWorld world;
        int real;

        gate_world_begin_bus(&world);
        world.known = ":1.7";
        n_before = send_plain(&world, sent, 50);
        n_with = make_message(sent + n_before, 8, 1, ":1.7");
        send_with_fds(world.peer, sent + n_before, n_with, &file, 1);
        n_all = n_before + n_with;
        n_all += send_plain(&world, sent + n_all, 50);
        gate_world_run(&world);
        /* A read ends with the bytes that carry descriptors. */
        n = receive(world.service, received, sizeof(received), passed, &n_passed);
        ck_assert_uint_eq(n, n_before + n_with);
        ck_assert_uint_eq(n_passed, 1);
        ck_assert_int_eq(stand_in_take(&real, passed[0]), 0);
        ck_assert(is_same_file(real, file));
        n += receive(world.service, received + n, sizeof(received) - n, NULL, NULL);
        ck_assert_uint_eq(n, n_all);
        ck_assert_mem_eq(received, sent, n_all);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_bus_passes_descriptors_of_its_own) {
        const size_t n = make_message(message, 8, 1, "org.freedesktop.DBus");
        const int file = some_file();
        uint8_t received[ROOM];
        GateWorld world;
        size_t n_passed;

        gate_world_begin_bus(&world);
        send_with_fds(world.peer, message, n, &file, 1);
        gate_world_run(&world);
        ck_assert_uint_eq(receive(world.service, received, ROOM, passed, &n_passed), n);
        ck_assert_uint_eq(n_passed, 1);
        ck_assert(is_same_file(passed[0], file));
        gate_world_end(&world);
}
END_TEST

TEST_MAIN_FORKED("gate-stand-in",
                 test_service_gets_stand_ins_and_takes_what_they_stand_for,
                 test_what_nobody_takes_is_closed_by_the_closer,
                 test_what_the_service_never_read_is_closed_by_the_closer,
                 test_descriptors_that_are_not_as_many_as_said_end_the_connection,
                 test_too_many_descriptors_end_the_connection,
                 test_stand_ins_of_a_user_are_bounded_whatever_its_uids,
                 test_descriptors_of_the_service_arrive_themselves,
                 test_whose_files_cannot_be_closed_may_pass_no_more,
                 test_senders_on_the_bus_are_told_apart,
                 test_bus_goes_on_behind_a_message_of_somebody_who_is_gone,
                 test_bus_goes_on_behind_a_message_that_is_too_long,
                 test_bus_passes_many_messages_and_keeps_descriptors_with_theirs,
                 test_bus_waits_until_it_is_known_whose_descriptors_come,
                 test_bus_passes_descriptors_of_its_own)
