/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "closer/closer.h"
#include "gate/handshake.h"
#include "gate/stand-in.h"
#include "shared/fd.h"
#include "test.h"
#include "world.h"

#define ROOM  4096
#define LARGE (3u << 20)

static uint8_t message[LARGE + ROOM], received[LARGE + ROOM];

/* As much as comes, of a message that does not fit into a socket. */
static size_t receive_all(GateWorld *world, int fd) {
        size_t n = 0, n_more;

        do {
                gate_world_run(world);
                n_more = receive(fd, received + n, sizeof(received) - n, NULL, NULL);
                n += n_more;
        } while (n_more > 0);
        return n;
}

static void send_slowly(GateWorld *world, int fd, const uint8_t *data, size_t n) {
        while (n > 0) {
                ssize_t n_sent = send(fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (n_sent > 0) {
                        data += n_sent;
                        n -= (size_t)n_sent;
                }
                gate_world_run(world);
        }
}

START_TEST(test_messages_pass_both_ways) {
        const size_t n = make_message(message, 100, 0, NULL);
        GateWorld world;

        gate_world_begin(&world, NULL);
        send_all(world.peer, message, n);
        ck_assert_uint_eq(receive_all(&world, world.service), n);
        ck_assert_mem_eq(received, message, n);
        ck_assert_uint_gt(world.n_passed, 0);
        send_all(world.service, message, n);
        gate_pump(world.gate);
        ck_assert_uint_eq(receive(world.peer, received, sizeof(received), NULL, NULL), n);
        ck_assert_mem_eq(received, message, n);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_handshake_and_messages_may_come_byte_by_byte) {
        static const char hello[] = "\0AUTH EXTERNAL 31303030\r\nBEGIN\r\n";
        const size_t n = make_message(message, 33, 0, NULL);
        GateWorld world;

        gate_world_new(&world, NULL);
        for (size_t i = 0; i < sizeof(hello) - 1; i++) {
                send_all(world.peer, hello + i, 1);
                gate_world_run(&world);
        }
        ck_assert_uint_gt(receive_all(&world, world.service), 0);
        for (size_t i = 0; i < n; i++) {
                ck_assert_uint_eq(receive_all(&world, world.service), 0);
                send_all(world.peer, message + i, 1);
        }
        ck_assert_uint_eq(receive_all(&world, world.service), n);
        ck_assert_mem_eq(received, message, n);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_large_messages_pass_and_leave_nothing) {
        const size_t n = make_message(message, LARGE, 0, NULL);
        GateWorld world;

        gate_world_begin(&world, NULL);
        send_slowly(&world, world.peer, message, n);
        ck_assert_uint_gt(gates_n_bytes(world.gates, ALICE), 0);
        ck_assert_uint_eq(receive_all(&world, world.service), n);
        ck_assert_mem_eq(received, message, n);
        ck_assert_uint_eq(gates_n_bytes(world.gates, ALICE), 0);
        send_slowly(&world, world.service, message, n);
        ck_assert_uint_eq(receive_all(&world, world.peer), n);
        ck_assert_mem_eq(received, message, n);
        ck_assert_uint_eq(gates_n_bytes(world.gates, ALICE), 0);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_message_that_is_too_long_ends_the_connection_at_once) {
        const uint32_t n_body = GATE_MESSAGE_BYTES_MAX;
        GateWorld world;

        gate_world_begin(&world, NULL);
        make_message(message, 0, 0, NULL);
        memcpy(message + 4, &n_body, sizeof(n_body));
        send_all(world.peer, message, 16);
        gate_world_run(&world);
        ck_assert(has_ended(world.peer));
        ck_assert(has_ended(world.service));
        ck_assert_uint_gt(world.n_passed, 0);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_unfinished_messages_of_a_user_are_bounded_and_given_back) {
        const size_t n = make_message(message, LARGE, 0, NULL);
        GateWorld worlds[GATE_BYTES_PER_USER_MAX / LARGE + 1];
        size_t n_ended = 0;

        for (size_t i = 0; i < ARRAY_SIZE(worlds); i++) {
                const uint8_t *at = message, *end = message + n - 1;

                if (i % 2 == 0)
                        gate_world_begin(&worlds[i], i > 0 ? worlds[0].gates : NULL);
                else
                        gate_world_begin_subordinate(&worlds[i], worlds[0].gates);
                while (at < end) {
                        ssize_t n_sent = send(worlds[i].peer,
                                              at,
                                              (size_t)(end - at),
                                              MSG_DONTWAIT | MSG_NOSIGNAL);

                        gate_world_run(&worlds[i]);
                        if (n_sent < 0)
                                break;
                        at += n_sent;
                }
                n_ended += has_ended(worlds[i].peer);
                ck_assert_uint_le(gates_n_bytes(worlds[0].gates, ALICE), GATE_BYTES_PER_USER_MAX);
        }
        ck_assert_uint_eq(n_ended, 1);
        for (size_t i = 1; i < ARRAY_SIZE(worlds); i++)
                gate_world_leave(&worlds[i]);
        ck_assert_uint_le(gates_n_bytes(worlds[0].gates, ALICE), n);
        gate_world_end(&worlds[0]);
}
END_TEST

/* As long as it has not read, its calls stay where they are. */
START_TEST(test_nothing_is_taken_from_a_peer_that_does_not_read) {
        const size_t n = make_message(message, LARGE, 0, NULL);
        uint8_t call[ROOM];
        const size_t n_call = make_message(call, 0, 0, NULL);
        GateWorld world;

        gate_world_begin(&world, NULL);
        send_slowly(&world, world.service, message, n);
        ck_assert_uint_gt(gates_n_bytes(world.gates, ALICE), 0);
        send_all(world.peer, call, n_call);
        ck_assert_uint_eq(receive_all(&world, world.service), 0);
        ck_assert_uint_eq(receive_all(&world, world.peer), n);
        ck_assert_uint_eq(receive_all(&world, world.service), n_call);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_peer_that_never_reads_ends) {
        const size_t n = make_message(message, LARGE, 0, NULL);
        GateWorld world;
        size_t n_sent = 0;

        gate_world_begin(&world, NULL);
        while (!gate_is_over(world.gate)) {
                ssize_t n_more = send(world.service,
                                      message + n_sent % n,
                                      n - n_sent % n,
                                      MSG_DONTWAIT | MSG_NOSIGNAL);

                gate_world_run(&world);
                n_sent += n_more > 0 ? (size_t)n_more : 0;
                ck_assert_uint_le(gates_n_bytes(world.gates, ALICE), GATE_QUEUE_BYTES_MAX + LARGE);
                ck_assert_uint_le(n_sent, 2 * (GATE_QUEUE_BYTES_MAX + LARGE));
        }
        ck_assert(has_ended(world.service));
        gate_world_end(&world);
}
END_TEST

START_TEST(test_end_comes_behind_all_that_was_said) {
        const size_t n = make_message(message, 10, 0, NULL);
        GateWorld world;

        gate_world_begin(&world, NULL);
        for (size_t i = 0; i < 20; i++)
                send_all(world.peer, message, n);
        shutdown(world.peer, SHUT_WR);
        ck_assert_uint_eq(receive_all(&world, world.service), 20 * n);
        ck_assert(has_ended(world.service));
        gate_world_end(&world);
}
END_TEST

START_TEST(test_peer_still_gets_what_the_service_said_last) {
        const size_t n = make_message(message, 10, 0, NULL);
        GateWorld world;

        gate_world_begin(&world, NULL);
        send_all(world.service, message, n);
        world.service = fd_close(world.service);
        world.gate = gate_free(world.gate);
        ck_assert_uint_eq(receive(world.peer, received, sizeof(received), NULL, NULL), n);
        ck_assert(has_ended(world.peer));
        gate_world_end(&world);
}
END_TEST

static void expect_refusal(const char *hello, size_t n, bool is_ended) {
        static const char rejected[] = "REJECTED EXTERNAL\r\n";
        char said[512];
        GateWorld world;

        gate_world_new(&world, NULL);
        send_all(world.peer, hello, n);
        gate_world_run(&world);
        ck_assert_uint_eq(receive(world.service, said, sizeof(said), NULL, NULL), 0);
        if (is_ended) {
                ck_assert(has_ended(world.peer));
        } else {
                ck_assert_uint_eq(receive(world.peer, said, sizeof(said), NULL, NULL),
                                  sizeof(rejected) - 1);
                ck_assert_mem_eq(said, rejected, sizeof(rejected) - 1);
        }
        gate_world_end(&world);
}

#define REFUSED(text, is_ended) expect_refusal(text, sizeof(text) - 1, is_ended)

START_TEST(test_handshake_refuses_who_says_another_uid) {
        REFUSED("\0AUTH EXTERNAL 30\r\n", false);
        REFUSED("\0AUTH EXTERNAL 3130303030\r\n", false);
        REFUSED("\0AUTH EXTERNAL 313030\r\n", false);
        REFUSED("\0AUTH ANONYMOUS\r\n", false);
        REFUSED("\0AUTH\r\n", false);
}
END_TEST

START_TEST(test_handshake_that_is_none_ends) {
        char text[2048] = {};

        REFUSED("AUTH EXTERNAL 31303030\r\n", true);
        REFUSED("GET / HTTP/1.1\r\n", true);
        memset(text + 1, 'A', sizeof(text) - 1);
        expect_refusal(text, sizeof(text), true);
        for (size_t i = 1; i + 6 < sizeof(text); i += 6)
                memcpy(text + i, "AUTH\r\n", 6);
        {
                GateWorld world;

                gate_world_new(&world, NULL);
                send_all(world.peer, text, 1 + 6 * 100);
                gate_world_run(&world);
                ck_assert(has_ended(world.peer));
                gate_world_end(&world);
        }
}
END_TEST

/* The answers to `n` lines that mean nothing. */
static bool ends_after(size_t n_lines, size_t n_bytes) {
        char text[HANDSHAKE_LINE_BYTES_MAX + 2];
        GateWorld world;
        bool ends;

        gate_world_new(&world, NULL);
        send_all(world.peer, "", 1);
        memset(text, 'x', sizeof(text));
        memcpy(text + n_bytes - 2, "\r\n", 2);
        for (size_t i = 0; i < n_lines; i++)
                send_all(world.peer, text, n_bytes);
        gate_world_run(&world);
        ends = has_ended(world.peer);
        gate_world_end(&world);
        return ends;
}

START_TEST(test_handshake_is_limited_in_lines_and_their_length) {
        ck_assert(!ends_after(HANDSHAKE_LINES_MAX, 10));
        ck_assert(ends_after(HANDSHAKE_LINES_MAX + 1, 10));
        ck_assert(!ends_after(1, HANDSHAKE_LINE_BYTES_MAX / 2));
        ck_assert(ends_after(1, HANDSHAKE_LINE_BYTES_MAX + 2));
}
END_TEST

START_TEST(test_a_peer_that_begins_unasked_is_not_heard) {
        static const char hello[] = "\0BEGIN\r\n";
        char said[512];
        GateWorld world;

        gate_world_new(&world, NULL);
        send_all(world.peer, hello, sizeof(hello) - 1);
        gate_world_run(&world);
        ck_assert_uint_eq(receive(world.service, said, sizeof(said), NULL, NULL), 0);
        ck_assert_uint_eq(receive(world.peer, said, sizeof(said), NULL, NULL), 7);
        ck_assert_mem_eq(said, "ERROR\r\n", 7);
        gate_world_end(&world);
}
END_TEST

START_TEST(test_peer_that_does_not_know_its_uid_is_welcome) {
        static const char hello[] = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";
        static const char answer[] = "DATA\r\nOK " GUID "\r\nAGREE_UNIX_FD\r\n";
        char said[512];
        GateWorld world;

        gate_world_new(&world, NULL);
        send_all(world.peer, hello, sizeof(hello) - 1);
        gate_world_run(&world);
        ck_assert_uint_eq(receive(world.peer, said, sizeof(said), NULL, NULL), sizeof(answer) - 1);
        ck_assert_mem_eq(said, answer, sizeof(answer) - 1);
        gate_world_end(&world);
}
END_TEST

TEST_MAIN("gate",
          test_handshake_is_limited_in_lines_and_their_length,
          test_messages_pass_both_ways,
          test_handshake_and_messages_may_come_byte_by_byte,
          test_large_messages_pass_and_leave_nothing,
          test_message_that_is_too_long_ends_the_connection_at_once,
          test_unfinished_messages_of_a_user_are_bounded_and_given_back,
          test_nothing_is_taken_from_a_peer_that_does_not_read,
          test_peer_that_never_reads_ends,
          test_end_comes_behind_all_that_was_said,
          test_peer_still_gets_what_the_service_said_last,
          test_handshake_refuses_who_says_another_uid,
          test_handshake_that_is_none_ends,
          test_a_peer_that_begins_unasked_is_not_heard,
          test_peer_that_does_not_know_its_uid_is_welcome)
