/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "closer/closer.h"
#include "test.h"

#define ALICE   1000
#define MALLORY 1001

/* What "hangs" is a pipe's end: closing it waits until the test lets it go on. */
static atomic_int hanging_fd = -1;
static sem_t has_begun, may_go_on;

static int close_or_hang(int fd) {
        if (fd == hanging_fd) {
                sem_post(&has_begun);
                while (sem_wait(&may_go_on) < 0)
                        ; /* interrupted, as what lingers is */
        }
        return close(fd);
}

static void setup(void) {
        sem_init(&has_begun, 0, 0);
        sem_init(&may_go_on, 0, 0);
        closer_replace(close_or_hang);
}

static int some_fd(void) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        return fd;
}

static bool is_open(int fd) {
        return fcntl(fd, F_GETFD) >= 0;
}

static void hang_for(uid_t uid) {
        hanging_fd = some_fd();
        closer_close(uid, hanging_fd);
        sem_wait(&has_begun);
}

static void let_go(void) {
        sem_post(&may_go_on);
        closer_replace(NULL); /* waits until all is closed */
        hanging_fd = -1;
}

START_TEST(test_descriptors_are_closed) {
        int fds[100];

        setup();
        for (size_t i = 0; i < 100; i++)
                fds[i] = some_fd();
        for (size_t i = 0; i < 100; i++)
                closer_close(ALICE + (uid_t)i % 3, fds[i]);
        closer_replace(NULL);
        for (size_t i = 0; i < 100; i++)
                ck_assert(!is_open(fds[i]));
        closer_close(ALICE, -1);
        ck_assert(!closer_is_full(ALICE));
}
END_TEST

START_TEST(test_one_that_hangs_holds_up_its_own_user_only) {
        int mallorys, alices;

        setup();
        hang_for(MALLORY);
        mallorys = some_fd();
        closer_close(MALLORY, mallorys);
        alices = some_fd();
        closer_close(ALICE, alices);
        for (unsigned i = 0; i < 500 && is_open(alices); i++)
                usleep(10000);
        ck_assert(!is_open(alices));
        ck_assert(is_open(mallorys));
        let_go();
        ck_assert(!is_open(mallorys));
}
END_TEST

START_TEST(test_user_with_many_that_hang_is_full_until_they_are_closed) {
        setup();
        hang_for(MALLORY);
        for (unsigned i = 1; i < CLOSER_PENDING_MAX; i++) {
                ck_assert(!closer_is_full(MALLORY));
                closer_close(MALLORY, some_fd());
        }
        ck_assert(closer_is_full(MALLORY));
        ck_assert(!closer_is_full(ALICE));
        let_go();
        ck_assert(!closer_is_full(MALLORY));
}
END_TEST

static void send_fd(int socket, int fd) {
        union {
                struct cmsghdr header;
                uint8_t space[CMSG_SPACE(sizeof(int))];
        } control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
                                  .cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS } };
        char byte = 0;
        struct iovec piece = { .iov_base = &byte, .iov_len = 1 };
        struct msghdr message = { .msg_iov = &piece,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control.space) };

        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
        ck_assert_int_eq(sendmsg(socket, &message, 0), 1);
}

/* The last reference to a pipe's end is in the socket, so its other end sees when that is let go. */
START_TEST(test_descriptors_that_nobody_has_read_are_closed_with_their_socket) {
        int sockets[2], pipes[2];
        char byte;

        setup();
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
        for (unsigned i = 0; i < 3; i++)
                send_fd(sockets[0], pipes[1]);
        close(pipes[1]);
        hang_for(ALICE); /* somebody else's */
        closer_close_socket(MALLORY, sockets[1]);
        /* It is shut down first, and reset when it is closed with something unread in it. */
        ck_assert(read(sockets[0], &byte, 1) == 0 || errno == ECONNRESET);
        ck_assert_int_eq(read(pipes[0], &byte, 1), 0); /* waits for the last to be closed */
        let_go();
        close(pipes[0]);
        close(sockets[0]);
}
END_TEST

/* Its last close waits an hour for a reader that never reads. */
static int lingering_socket(int *ret_other) {
        static const uint8_t zeros[1u << 16];
        const struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t n = sizeof(address);
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, n), 0);
        ck_assert_int_eq(listen(listener, 1), 0);
        ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &n), 0);
        ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, n), 0);
        *ret_other = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        ck_assert_int_ge(*ret_other, 0);
        close(listener);
        ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
        while (send(fd, zeros, sizeof(zeros), MSG_DONTWAIT) > 0)
                ;
        return fd;
}

START_TEST(test_sockets_do_not_linger) {
        int sockets[2], others[2], fd;

        setup();
        closer_replace(NULL);
        closer_close(MALLORY, lingering_socket(&others[0]));
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        fd = lingering_socket(&others[1]);
        send_fd(sockets[0], fd);
        close(fd);
        closer_close_socket(MALLORY, sockets[1]);
        closer_replace(NULL); /* waits until all is closed */
        close(sockets[0]);
        close(others[0]);
        close(others[1]);
}
END_TEST

/* Nor is anything received from it, which would have to be closed as a file is. */
START_TEST(test_sockets_are_closed_while_files_hang) {
        int sockets[2], pipes[2];
        char byte;

        setup();
        hang_for(MALLORY);
        for (unsigned i = 1; i < CLOSER_PENDING_MAX; i++)
                closer_close(MALLORY, some_fd());
        ck_assert(closer_is_full(MALLORY));
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
        send_fd(sockets[0], pipes[1]);
        close(pipes[1]);
        closer_close_socket(MALLORY, sockets[1]);
        ck_assert_int_eq(read(pipes[0], &byte, 1), 0); /* waits for the other end to be closed */
        let_go();
        close(pipes[0]);
        close(sockets[0]);
}
END_TEST

/* With something in it that nobody has read, so that a thread closes it. */
static int unread_socket(void) {
        int sockets[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        ck_assert_int_eq(send(sockets[0], "x", 1, 0), 1);
        close(sockets[0]);
        return sockets[1];
}

START_TEST(test_user_with_many_sockets_that_hang_is_full_until_they_are_closed) {
        struct rlimit limit;

        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = limit.rlim_max;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        if (limit.rlim_cur < 2 * CLOSER_SOCKETS_PENDING_MAX) {
                test_skip("a process may have only %llu descriptors here",
                          (unsigned long long)limit.rlim_cur);
                return;
        }
        setup();
        hanging_fd = unread_socket();
        closer_close_socket(MALLORY, hanging_fd);
        sem_wait(&has_begun);
        for (unsigned i = 1; i < CLOSER_SOCKETS_PENDING_MAX; i++) {
                ck_assert(!closer_is_full(MALLORY));
                closer_close_socket(MALLORY, unread_socket());
        }
        ck_assert(closer_is_full(MALLORY));
        ck_assert(!closer_is_full(ALICE));
        let_go();
        ck_assert(!closer_is_full(MALLORY));
}
END_TEST

START_TEST(test_what_hangs_is_pending_until_it_is_closed) {
        setup();
        ck_assert(!closer_has_pending());
        hang_for(MALLORY);
        ck_assert(closer_has_pending());
        let_go();
        ck_assert(!closer_has_pending());
}
END_TEST

TEST_MAIN("closer",
          test_descriptors_are_closed,
          test_one_that_hangs_holds_up_its_own_user_only,
          test_user_with_many_that_hang_is_full_until_they_are_closed,
          test_descriptors_that_nobody_has_read_are_closed_with_their_socket,
          test_sockets_do_not_linger,
          test_sockets_are_closed_while_files_hang,
          test_user_with_many_sockets_that_hang_is_full_until_they_are_closed,
          test_what_hangs_is_pending_until_it_is_closed)
