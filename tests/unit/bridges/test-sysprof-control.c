/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Programs that ask for rings, as they should and otherwise. */

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridges/sysprof/capture-control.h"
#include "bridges/sysprof/capture-ring.h"
#include "capture-maker.h"
#include "shared/fd.h"
#include "test.h"

#define RING_BYTES (CAPTURE_RING_PAGE + CAPTURE_RING_BYTES)

typedef struct Fixture {
        CaptureControl *control;
        CaptureTaker taker;
        int program; /* its end */
} Fixture;

/* A program's view of its ring. */
typedef struct Ring {
        uint8_t *memory;
        _Atomic uint32_t *head, *tail;
} Ring;

static void fixture_init(Fixture *fixture) {
        int fds[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        fixture->program = fds[1];
        ck_assert_int_eq(capture_control_new(&fixture->control, fds[0]), 0);
}

static void fixture_deinit(Fixture *fixture) {
        capture_control_free(fixture->control);
        fd_close(fixture->program);
}

/* Waits as GTK does: for ever. -1: there is no ring. */
static int receive_ring(Fixture *fixture) {
        char byte, control[CMSG_SPACE(sizeof(int))];
        struct iovec iov = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = control,
                .msg_controllen = sizeof(control),
        };
        int fd = -1;

        ck_assert_int_eq(recvmsg(fixture->program, &message, MSG_CMSG_CLOEXEC), 1);
        (void)fd_list_received(&message, &fd, 1);
        return fd;
}

static Ring map_ring(int fd) {
        Ring ring = {};
        uint32_t header[4];

        ck_assert_int_eq(lseek(fd, 0, SEEK_END), RING_BYTES);
        ring.memory = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ck_assert(ring.memory != MAP_FAILED);
        fd_close(fd);
        memcpy(header, ring.memory, sizeof(header));
        ck_assert_uint_eq(header[0], header[1]);
        ck_assert_uint_eq(header[2], CAPTURE_RING_PAGE);
        ck_assert_uint_eq(header[3], CAPTURE_RING_BYTES);
        ring.head = (_Atomic uint32_t *)ring.memory;
        ring.tail = ring.head + 1;
        return ring;
}

static Ring ask_for_ring(Fixture *fixture) {
        ck_assert_int_eq(send(fixture->program, "CreatRing", 10, MSG_NOSIGNAL), 10);
        return map_ring(receive_ring(fixture));
}

static void ring_put(Ring *ring, const uint8_t *data, size_t n) {
        uint32_t tail = atomic_load(ring->tail);

        for (size_t i = 0; i < n; i++) {
                ring->memory[CAPTURE_RING_PAGE + tail] = data[i];
                tail = (tail + 1) % CAPTURE_RING_BYTES;
        }
        atomic_store(ring->tail, tail);
}

static void ring_close(Ring *ring) {
        munmap(ring->memory, RING_BYTES);
}

/* How many bytes of frames the taker gets now. */
static size_t taken(Fixture *fixture) {
        CapturePiece piece;
        uint64_t n_lost;
        size_t n = 0;
        Bytes pieces;

        capture_control_take(fixture->control, &fixture->taker, &pieces, &n_lost);
        for (size_t at = 0; at < pieces.n; at += sizeof(piece) + (size_t)piece.n_bytes) {
                memcpy(&piece, pieces.data + at, sizeof(piece));
                n += (size_t)piece.n_bytes;
        }
        bytes_deinit(&pieces);
        return n;
}

static void wait_until_read(const Ring *ring) {
        while (atomic_load(ring->head) != atomic_load(ring->tail))
                poll(NULL, 0, 5);
}

START_TEST(test_requests_are_answered_though_nobody_records) {
        Fixture fixture;
        Ring ring;

        fixture_init(&fixture);
        for (int i = 0; i < 3; i++) {
                ring = ask_for_ring(&fixture);
                ring_close(&ring);
        }
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_first_taker_gets_what_was_before_and_others_do_not) {
        CaptureMaker maker = {};
        CaptureTaker second;
        Fixture fixture;
        uint64_t n_lost;
        Bytes pieces;
        Ring ring;

        fixture_init(&fixture);
        ring = ask_for_ring(&fixture);
        capture_add_mark(&maker, getpid(), 1, 1, "early", "");
        ring_put(&ring, maker.data, maker.n);
        wait_until_read(&ring);
        capture_control_attach(fixture.control, &fixture.taker);
        capture_control_attach(fixture.control, &second);
        ck_assert_uint_eq(taken(&fixture), maker.n);
        capture_control_take(fixture.control, &second, &pieces, &n_lost);
        ck_assert_uint_eq(pieces.n, 0);
        ring_put(&ring, maker.data, maker.n);
        ck_assert_uint_eq(taken(&fixture), maker.n);
        capture_control_take(fixture.control, &second, &pieces, &n_lost);
        ck_assert_uint_eq(pieces.n, sizeof(CapturePiece) + maker.n);
        bytes_deinit(&pieces);
        capture_control_detach(fixture.control, &second);
        capture_control_detach(fixture.control, &fixture.taker);
        ring_close(&ring);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_ring_is_read_around_its_end_whether_taken_or_not) {
        CaptureMaker maker = {};
        size_t n_put = 0, n_taken = 0;
        Fixture fixture;
        Ring ring;

        fixture_init(&fixture);
        ring = ask_for_ring(&fixture);
        capture_add_mark(&maker, getpid(), 1, 1, "mark", "some words");
        while (n_put <
               2 * CAPTURE_RING_BYTES) { /* discarded: nobody has come yet, and it is not full */
                ring_put(&ring, maker.data, maker.n);
                n_put += maker.n;
                if (n_put % (100 * maker.n) == 0)
                        wait_until_read(&ring);
        }
        capture_control_attach(fixture.control, &fixture.taker);
        ck_assert_uint_eq(taken(&fixture), n_put);
        for (n_put = 0; n_put < 2 * CAPTURE_RING_BYTES; n_put += maker.n) {
                ring_put(&ring, maker.data, maker.n);
                if (n_put % (100 * maker.n) == 0)
                        n_taken += taken(&fixture);
        }
        ck_assert_uint_eq(n_taken + taken(&fixture), n_put);
        capture_control_detach(fixture.control, &fixture.taker);
        ring_close(&ring);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_positions_that_are_nonsense_are_passed_over) {
        const uint32_t nonsense[] = { CAPTURE_RING_BYTES, UINT32_MAX, 4, CAPTURE_RING_BYTES - 4 };
        CaptureMaker maker = {};
        Fixture fixture;
        Ring ring;

        fixture_init(&fixture);
        capture_control_attach(fixture.control, &fixture.taker);
        ring = ask_for_ring(&fixture);
        for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
                atomic_store(ring.tail, nonsense[i]);
                ck_assert_uint_eq(taken(&fixture), 0);
        }
        atomic_store(ring.tail, atomic_load(ring.head));
        capture_add_mark(&maker, getpid(), 1, 1, "mark", "");
        ring_put(&ring, maker.data, maker.n);
        ck_assert_uint_eq(taken(&fixture), maker.n);
        capture_control_detach(fixture.control, &fixture.taker);
        ring_close(&ring);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_nonsense_is_disconnected_and_others_are_read_on) {
        CaptureMaker maker = {};
        Fixture fixture;
        Ring ring;
        char byte;

        fixture_init(&fixture);
        capture_control_attach(fixture.control, &fixture.taker);
        ring = ask_for_ring(&fixture);
        ck_assert_int_eq(send(fixture.program, "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 16);
        ck_assert_int_le(recv(fixture.program, &byte, 1, 0), 0);
        capture_add_mark(&maker, getpid(), 1, 1, "mark", "");
        ring_put(&ring, maker.data, maker.n);
        ck_assert_uint_eq(taken(&fixture), maker.n);
        capture_control_detach(fixture.control, &fixture.taker);
        ring_close(&ring);
        fixture_deinit(&fixture);
}
END_TEST

/* They wait for an answer, too; without a ring a program does without. */
START_TEST(test_threads_beyond_the_limit_get_an_answer) {
        CaptureMaker maker = {};
        Fixture fixture;
        Ring ring;

        fixture_init(&fixture);
        ring = ask_for_ring(&fixture);
        for (int i = 1; i < CONTROL_RINGS_MAX; i++) {
                ck_assert_int_eq(send(fixture.program, "CreatRing", 10, MSG_NOSIGNAL), 10);
                fd_close(receive_ring(&fixture));
        }
        ck_assert_int_eq(send(fixture.program, "CreatRing", 10, MSG_NOSIGNAL), 10);
        ck_assert_int_eq(receive_ring(&fixture), -1);
        /* A thread that ends gives its ring back. */
        capture_add(&maker, 255, getpid(), 1, 24);
        ring_put(&ring, maker.data, maker.n);
        wait_until_read(&ring);
        ring_close(&ring);
        ring = ask_for_ring(&fixture);
        ring_close(&ring);
        fixture_deinit(&fixture);
}
END_TEST

/* Others do not miss what one has no room for. */
START_TEST(test_what_nobody_takes_is_limited_and_counted) {
        static const uint8_t frames[CAPTURE_RING_BYTES / 2]; /* of no kind that is known */
        const size_t n_pieces = CONTROL_QUEUE_BYTES_MAX / (sizeof(CapturePiece) + sizeof(frames));
        CaptureTaker idle;
        Fixture fixture;
        uint64_t n_lost;
        Bytes pieces;
        Ring ring;

        fixture_init(&fixture);
        capture_control_attach(fixture.control, &fixture.taker);
        capture_control_attach(fixture.control, &idle);
        ring = ask_for_ring(&fixture);
        for (size_t i = 0; i < n_pieces + 3; i++) {
                ring_put(&ring, frames, sizeof(frames));
                ck_assert_uint_eq(taken(&fixture), sizeof(frames));
        }
        capture_control_take(fixture.control, &idle, &pieces, &n_lost);
        ck_assert_uint_eq(pieces.n, n_pieces * (sizeof(CapturePiece) + sizeof(frames)));
        ck_assert_uint_eq(n_lost, 3);
        bytes_deinit(&pieces);
        ring_put(&ring, frames, sizeof(frames));
        capture_control_take(fixture.control, &idle, &pieces, &n_lost);
        ck_assert_uint_eq(pieces.n, sizeof(CapturePiece) + sizeof(frames));
        ck_assert_uint_eq(n_lost, 0);
        bytes_deinit(&pieces);
        capture_control_detach(fixture.control, &idle);
        capture_control_detach(fixture.control, &fixture.taker);
        ring_close(&ring);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_program_cannot_take_the_memory_away) {
        Fixture fixture;
        int fd;

        fixture_init(&fixture);
        ck_assert_int_eq(send(fixture.program, "CreatRing", 10, MSG_NOSIGNAL), 10);
        fd = receive_ring(&fixture);
        ck_assert_int_lt(ftruncate(fd, 0), 0);
        fd_close(fd);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("bridges-sysprof-control",
          test_requests_are_answered_though_nobody_records,
          test_first_taker_gets_what_was_before_and_others_do_not,
          test_ring_is_read_around_its_end_whether_taken_or_not,
          test_positions_that_are_nonsense_are_passed_over,
          test_nonsense_is_disconnected_and_others_are_read_on,
          test_threads_beyond_the_limit_get_an_answer,
          test_what_nobody_takes_is_limited_and_counted,
          test_program_cannot_take_the_memory_away)
