/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What peers do that no honest client does, and peers that are slow or go: it costs the one that does it, and nobody
 * else.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "closer/closer.h"
#include "port-fixture.h"

/* Bytes that cost their sender the connection. */
static const struct {
        const char *bytes;
        size_t n;
} bad_frames[] = {
        { "\xfd\xff\x01\x00", 4 },       /* one byte too long */
        { "\xff\xff\xff\xff", 4 },       /* as long as can be */
        { "\x01\0\0\0\x10", 5 },         /* a field without its value */
        { "\x02\0\0\0\x1a\x05", 6 },     /* a message that ends behind the frame */
        { "\x02\0\0\0\x2b\x2c", 6 },     /* a group */
        { "\x03\0\0\0\x1a\x01\x80", 7 }, /* a message that is none */
};

PORT_TEST(test_what_is_no_frame_costs_the_connection_and_no_other) {
        const int other = bound_client();

        for (size_t i = 0; i < ARRAY_SIZE(bad_frames); i++) {
                const int client = bound_client();

                send_bytes(client, bad_frames[i].bytes, bad_frames[i].n);
                ck_assert(is_disconnected(client));
                ck_assert_uint_eq(n_open, 1);
                assert_is_served(other);
                close(client);
        }
        close(other);
}

/* At once, when the last of it has come. */
PORT_TEST(test_what_turns_out_to_be_no_frame_costs_the_connection) {
        for (size_t i = 0; i < ARRAY_SIZE(bad_frames); i++)
                for (size_t n = 1; n < bad_frames[i].n; n++) {
                        const int client = bound_client();

                        send_bytes(client, bad_frames[i].bytes, n);
                        run();
                        send_bytes(client, bad_frames[i].bytes + n, bad_frames[i].n - n);
                        ck_assert(is_disconnected(client));
                        close(client);
                }
}

PORT_TEST(test_a_method_may_break_the_connection_with_more_calls_behind_it) {
        const int client = bound_client();

        ipc_put_invoke(begin(), 2, 1, METHOD_BREAK, false, NULL, 0);
        ipc_put_invoke(&writer, 3, 1, METHOD_ECHO, false, NULL, 0);
        send_frame(client);
        ck_assert(is_disconnected(client));
        ck_assert_uint_eq(n_calls, 0);
        close(client);
}

PORT_TEST(test_a_peer_may_go_within_a_frame) {
        for (unsigned i = 0; i < 2; i++) {
                const int client = bound_client();

                if (i > 0)
                        send_bytes(client, "\x08\0\0\0\x10", 5);
                run();
                close(client);
                run();
                ck_assert_uint_eq(n_open, 0);
                ck_assert(!ports_is_busy(ports));
        }
}

PORT_TEST(test_what_was_said_before_the_peer_left_is_heard) {
        const int client = bound_client();

        ipc_put_invoke(begin(), 2, 1, METHOD_ECHO, true, NULL, 0);
        send_frame(client);
        close(client);
        run();
        ck_assert_uint_eq(n_calls, 1);
        ck_assert_uint_eq(n_open, 0);
}

static bool is_open(int fd) {
        return fcntl(fd, F_GETFD) >= 0;
}

/* With the reply; -1: none. */
static int receive_fd(int client) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int))];
        } control;
        uint8_t bytes[64];
        struct iovec piece = { bytes, sizeof(bytes) };
        struct msghdr message = { .msg_iov = &piece,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        int fd = -1;

        run();
        ck_assert_int_gt(recvmsg(client, &message, MSG_DONTWAIT), 0);
        if (CMSG_FIRSTHDR(&message))
                memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
        return fd;
}

static void call_with_fds(int client, uint32_t method, int *fds, size_t n_fds) {
        ipc_put_invoke(begin(), 2, 1, method, false, NULL, 0);
        send_with_fds(client, fds, n_fds);
}

PORT_TEST(test_a_descriptor_goes_both_ways) {
        const int client = bound_client();
        int fd = eventfd(7, EFD_CLOEXEC), back;
        eventfd_t value;

        call_with_fds(client, METHOD_TAKE_FD, &fd, 1);
        back = receive_fd(client);
        ck_assert_int_ge(back, 0);
        ck_assert_int_eq(eventfd_read(back, &value), 0);
        ck_assert_uint_eq(value, 7);
        ck_assert(back == taken_fd || !is_open(taken_fd)); /* the service keeps none */
        close(back);
        close(fd);
        close(client);
}

PORT_TEST(test_a_descriptor_that_no_method_takes_is_dropped) {
        const int client = bound_client();
        int fd = eventfd(0, EFD_CLOEXEC);

        call_with_fds(client, METHOD_ECHO, &fd, 1);
        receive_all(client);
        call(client, METHOD_TAKE_FD, "");
        ck_assert(!receive_frame(client).success);
        ck_assert_int_eq(taken_fd, -1);
        close(fd);
        close(client);
}

PORT_TEST(test_a_descriptor_belongs_to_a_frame_whose_end_comes_later) {
        const int client = bound_client();
        int fd = eventfd(7, EFD_CLOEXEC), back;
        uint8_t rest[64];
        size_t n;

        ipc_put_invoke(begin(), 2, 1, METHOD_TAKE_FD, false, "abc", 3);
        n = wire_writer_size(&writer) - 6;
        memcpy(rest, frame_memory + 6, n);
        writer.at = writer.start + 6;
        send_with_fds(client, &fd, 1);
        run();
        send_bytes(client, rest, n);
        back = receive_fd(client);
        ck_assert_int_ge(back, 0);
        close(back);
        close(fd);
        close(client);
}

PORT_TEST(test_more_descriptors_than_calls_cost_the_connection) {
        const int client = bound_client(), second = bound_client();
        int fds[4] = { client, client, client, client };

        call_with_fds(client, METHOD_TAKE_FD, fds, 4);
        ck_assert(is_disconnected(client));

        ipc_put_invoke(begin(), 2, 1, METHOD_TAKE_FD, false, "abc", 3);
        writer.at = writer.start + 6;
        send_with_fds(second, fds, 1);
        run();
        ipc_put_invoke(begin(), 2, 1, METHOD_TAKE_FD, false, NULL, 0);
        send_with_fds(second, fds, 1);
        ck_assert(is_disconnected(second));
        close(client);
        close(second);
}

static size_t n_open_fds(void) {
        size_t n = 0;

        for (int fd = 0; fd < 1024; fd++)
                n += is_open(fd);
        return n;
}

PORT_TEST(test_no_number_of_descriptors_is_kept) {
        closer_replace(NULL); /* waits for what other tests have left to it */
        for (size_t n = 2; n <= 4; n++) {
                const int client = bound_client();
                const size_t n_before = n_open_fds();
                int fds[4] = { client, client, client, client };

                call_with_fds(client, METHOD_ECHO, fds, n);
                ck_assert(is_disconnected(client));
                closer_replace(NULL);                          /* waits for its threads */
                ck_assert_uint_eq(n_open_fds(), n_before - 1); /* the service's end */
                close(client);
        }
}

static pthread_mutex_t hanging = PTHREAD_MUTEX_INITIALIZER;

static int close_when_free(int fd) {
        pthread_mutex_lock(&hanging);
        pthread_mutex_unlock(&hanging);
        return close(fd);
}

PORT_TEST(test_a_user_whose_descriptors_hang_gets_no_further_connection) {
        const int before = bound_client();
        int fds[2], fd;

        closer_replace(close_when_free);
        pthread_mutex_lock(&hanging);
        while (!closer_is_full(getuid())) {
                fd = dup(before);
                ck_assert_int_ge(fd, 0);
                closer_close(getuid(), fd);
        }
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        ck_assert_int_eq(ports_accept(ports, PORT_CONSUMER, fds[0]), -EUSERS);
        assert_is_served(before);
        pthread_mutex_unlock(&hanging);
        closer_replace(NULL); /* waits for its threads */
        close(fds[1]);
        fd = bound_client();
        close(fd);
        close(before);
}

static void ask_for_flood(int client, size_t n) {
        static uint8_t zeros[256];

        ipc_put_invoke(begin(), 5, 1, METHOD_FLOOD, false, zeros, n);
        send_frame(client);
        run();
}

PORT_TEST(test_a_slow_reader_gets_everything_in_order) {
        const int client = bound_client();
        IpcFrame frame;
        unsigned n = 0;

        ask_for_flood(client, 60);
        ck_assert_uint_gt(port_connection_n_queued(connection), 1 << 20);
        ck_assert_uint_eq(n_works, 1);
        ck_assert_uint_eq(n_drained, 0);
        receive_all(client);
        while (next_frame(&frame)) {
                ck_assert_uint_eq(frame.data[0], n);
                ck_assert(frame.has_more == (n < 59));
                n++;
        }
        ck_assert_uint_eq(n, 60);
        ck_assert_uint_eq(port_connection_n_queued(connection), 0);
        ck_assert_uint_eq(n_drained, 1);
        assert_is_served(client);
        close(client);
}

PORT_TEST(test_a_peer_that_reads_too_little_costs_itself_and_no_other) {
        const int client = bound_client(), other = bound_client();

        ask_for_flood(client, 100);
        ck_assert_uint_eq(n_open, 1);
        assert_is_served(other);
        close(client);
        close(other);
}

PORT_TEST(test_a_flood_of_requests_costs_itself_and_no_other) {
        const int client = bound_client(), other = bound_client();
        bool is_gone = false;

        ck_assert_int_eq(fcntl(client, F_SETFL, O_NONBLOCK), 0);
        while (!is_gone) {
                static uint8_t data[4096];
                ssize_t n;

                ipc_put_invoke(begin(), 2, 1, METHOD_ECHO, false, data, sizeof(data));
                n = send(client, frame_memory, wire_writer_size(&writer), MSG_NOSIGNAL);
                is_gone = n < 0 && errno != EAGAIN;
                ck_assert(is_gone || n < 0 || n == (ssize_t)wire_writer_size(&writer));
                run();
        }
        ck_assert_uint_eq(n_open, 1);
        assert_is_served(other);
        close(client);
        close(other);
}

PORT_TEST(test_a_peer_that_makes_slow_calls_waits_for_others_in_between) {
        const int client = bound_client(), other = bound_client();
        size_t n, n_replies = 0;
        IpcFrame frame;
        uint8_t last;

        begin();
        for (unsigned i = 0; i < 4; i++)
                ipc_put_invoke(&writer, 2 + i, 1, METHOD_SLOW, false, "abc", 3);
        n = wire_writer_size(&writer) - 1;
        last = frame_memory[n];
        send_bytes(client, frame_memory, n);
        call(other, METHOD_ECHO, "?");
        run();
        ck_assert_uint_le(n_slow_before, 1);
        ck_assert_uint_eq(n_slow, 3);

        /* What was left began in the middle of a read, and ends in another. */
        send_bytes(client, &last, 1);
        receive_all(client);
        while (next_frame(&frame))
                n_replies += frame.success;
        ck_assert_uint_eq(n_replies, 4);
        assert_is_served(client);
        close(client);
        close(other);
}

PORT_TEST(test_a_peer_may_go_while_its_calls_wait) {
        const int client = bound_client(), other = bound_client();

        begin();
        for (unsigned i = 0; i < 3; i++)
                ipc_put_invoke(&writer, 2 + i, 1, METHOD_SLOW, true, NULL, 0);
        ipc_put_invoke(&writer, 5, 1, METHOD_BREAK, true, NULL, 0);
        ipc_put_invoke(&writer, 6, 1, METHOD_SLOW, true, NULL, 0);
        send_frame(client);
        close(client);
        run();
        ck_assert_uint_eq(n_slow, 3);
        ck_assert_uint_eq(n_open, 1);
        assert_is_served(other);
        close(other);
}

/* What waits costs more than its bytes, which is counted too. */
PORT_TEST(test_small_replies_cost_what_they_take_up) {
        enum { N = 2000, REPLY_BYTES_MAX = 16 };
        const int client = bound_client();
        IpcFrame frame;
        size_t n_replies = 0;

        for (unsigned i = 0; i < N; i++) {
                call(client, METHOD_ECHO, "");
                if (i % 100 == 99)
                        run();
        }
        ck_assert_uint_gt(port_connection_n_queued(connection), N * REPLY_BYTES_MAX);
        receive_all(client);
        while (next_frame(&frame))
                n_replies++;
        ck_assert_uint_eq(n_replies, N);
        ck_assert_uint_eq(port_connection_n_queued(connection), 0);
        close(client);
}

PORT_TEST(test_a_reply_that_no_frame_can_hold_is_a_failure) {
        const int client = bound_client();

        call(client, METHOD_LONG, "");
        ck_assert(!receive_frame(client).success);
        assert_is_served(client);
        close(client);
}

TEST_MAIN("port-hostile",
          test_a_reply_that_no_frame_can_hold_is_a_failure,
          test_small_replies_cost_what_they_take_up,
          test_a_peer_that_makes_slow_calls_waits_for_others_in_between,
          test_a_peer_may_go_while_its_calls_wait,
          test_what_is_no_frame_costs_the_connection_and_no_other,
          test_what_turns_out_to_be_no_frame_costs_the_connection,
          test_a_method_may_break_the_connection_with_more_calls_behind_it,
          test_a_peer_may_go_within_a_frame,
          test_what_was_said_before_the_peer_left_is_heard,
          test_a_descriptor_goes_both_ways,
          test_a_descriptor_that_no_method_takes_is_dropped,
          test_a_descriptor_belongs_to_a_frame_whose_end_comes_later,
          test_more_descriptors_than_calls_cost_the_connection,
          test_no_number_of_descriptors_is_kept,
          test_a_user_whose_descriptors_hang_gets_no_further_connection,
          test_a_slow_reader_gets_everything_in_order,
          test_a_peer_that_reads_too_little_costs_itself_and_no_other,
          test_a_flood_of_requests_costs_itself_and_no_other)
