/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/pid-namespace.h"
#include "test.h"

#define WORDS ":1.42"

static int proves(int fd) {
        Identity identity;

        return pid_proof_take(&identity, fd, WORDS);
}

START_TEST(test_proof_names_the_process_that_made_it) {
        const pid_t maker = getpid();
        int fd, status;
        pid_t reader;

        ck_assert_int_eq(pid_proof_new(&fd, WORDS), 0);
        reader = fork();
        ck_assert_int_ge(reader, 0);
        if (reader == 0) {
                Identity identity;

                _exit(pid_proof_take(&identity, fd, WORDS) == 0 && identity.pid == maker &&
                                      identity.uid == getuid()
                              ? 0
                              : 1);
        }
        ck_assert_int_eq(waitpid(reader, &status, 0), reader);
        ck_assert_int_eq(status, 0);
        fd_close(fd);
}
END_TEST

START_TEST(test_proof_is_good_for_its_words) {
        char long_words[PID_PROOF_BYTES_MAX + 2];
        int fd;

        ck_assert_int_eq(pid_proof_new(&fd, WORDS "0"), 0);
        ck_assert_int_eq(proves(fd), -EBADMSG);
        fd_close(fd);

        ck_assert_int_eq(pid_proof_new(&fd, ":1.4"), 0);
        ck_assert_int_eq(proves(fd), -EBADMSG);
        fd_close(fd);

        memset(long_words, 'x', sizeof(long_words));
        long_words[sizeof(long_words) - 1] = '\0';
        ck_assert_int_eq(pid_proof_new(&fd, long_words), -ENAMETOOLONG);
        long_words[PID_PROOF_BYTES_MAX] = '\0';
        ck_assert_int_eq(pid_proof_new(&fd, long_words), 0);
        fd_close(fd);
}
END_TEST

/* Two processes may have to say the same at once, and what one of them says may be bound by somebody else. */
START_TEST(test_equal_words_do_not_collide) {
        int fds[2];

        ck_assert_int_eq(pid_proof_new(&fds[0], WORDS), 0);
        ck_assert_int_eq(pid_proof_new(&fds[1], WORDS), 0);
        ck_assert_int_eq(proves(fds[0]), 0);
        ck_assert_int_eq(proves(fds[1]), 0);
        fd_close(fds[0]);
        fd_close(fds[1]);
}
END_TEST

static void make_pair(int fds[static 2]) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
}

START_TEST(test_just_any_descriptor_proves_nothing) {
        int fd;

        ck_assert_int_lt(proves(-1), 0);
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        ck_assert_int_eq(proves(fd), -EBADMSG);
        fd_close(fd);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(proves(fd), -EBADMSG);
        fd_close(fd);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(proves(fd), -EBADMSG);
        fd_close(fd);
}
END_TEST

/* A process that was given one end of a pair can name only the one that made the pair. */
START_TEST(test_the_end_that_is_passed_names_nobody) {
        const char address[] = "\0desktrace-proof/0123456789abcdef/" WORDS;
        struct sockaddr_un name = { .sun_family = AF_UNIX };
        int fds[2];

        make_pair(fds);
        ck_assert_int_eq(send(fds[1], WORDS, strlen(WORDS), 0), (ssize_t)strlen(WORDS));
        ck_assert_int_eq(proves(fds[0]), -EBADMSG);
        memcpy(name.sun_path, address, sizeof(address) - 1);
        ck_assert_int_eq(
                bind(fds[0],
                     (struct sockaddr *)&name,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(address) - 1)),
                0);
        ck_assert_int_eq(proves(fds[0]), -EBADMSG);
        ck_assert_int_eq(proves(fds[1]), 0); /* it is a proof for who has the other end */
        fd_close(fds[0]);
        fd_close(fds[1]);
}
END_TEST

static void *read_link(void *userdata) {
        pid_t pid = 0, tid = 0;

        ck_assert_int_eq(task_link_read(*(int *)userdata, &pid, &tid), 0);
        ck_assert_int_eq(pid, getpid());
        ck_assert_int_eq(tid, gettid());
        return NULL;
}

START_TEST(test_link_tells_each_thread_its_own_numbers) {
        pthread_t thread;
        int fd;

        ck_assert_int_eq(task_link_open(&fd), 0);
        read_link(&fd);
        ck_assert_int_eq(pthread_create(&thread, NULL, read_link, &fd), 0);
        pthread_join(thread, NULL);
        fd_close(fd);
}
END_TEST

/* The numbers of the caller by a link from outside of its namespace, for its parent to compare. */
static void tell_numbers(int link_fd, int out) {
        pid_t numbers[3] = { getpid() };

        _exit(task_link_read(link_fd, &numbers[1], &numbers[2]) == 0 &&
                              write(out, numbers, sizeof(numbers)) == sizeof(numbers)
                      ? 0
                      : 1);
}

/* 0: right; 77: there are no namespaces to be had; 1. */
static int look_from_inside(int link_fd) {
        pid_t numbers[3], child;
        int fds[2], status;

        if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0 || pipe(fds) < 0)
                return 77;
        child = fork();
        if (child == 0)
                tell_numbers(link_fd, fds[1]);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0 ||
            read(fds[0], numbers, sizeof(numbers)) != sizeof(numbers))
                return 1;
        return numbers[0] == 1 && numbers[1] == child && numbers[2] == child ? 0 : 1;
}

START_TEST(test_link_tells_who_is_in_a_namespace_the_numbers_of_outside) {
        int fd, status;
        pid_t child;

        ck_assert_int_eq(task_link_open(&fd), 0);
        child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
                _exit(look_from_inside(fd));
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
                printf("# no user or pid namespaces here: not looked at\n");
        else
                ck_assert_int_eq(WEXITSTATUS(status), 0);
        fd_close(fd);
}
END_TEST

START_TEST(test_other_links_are_refused) {
        static const char *const texts[] = {
                "0/task/1", "1/task/0",  "1/task/",     "1/task/2/",          "99999999999/task/1",
                "1",        "-1/task/1", "/etc/passwd", "1/task/99999999999",
        };
        char path[] = "/tmp/desktrace-links-XXXXXX", name[64];
        pid_t pid, tid;
        int fd;

        ck_assert_ptr_nonnull(mkdtemp(path));
        snprintf(name, sizeof(name), "%s/link", path);
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                ck_assert_int_eq(symlink(texts[i], name), 0);
                fd = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
                ck_assert_int_ge(fd, 0);
                ck_assert_msg(task_link_read(fd, &pid, &tid) == -EBADMSG, "%s", texts[i]);
                fd_close(fd);
                unlink(name);
        }
        rmdir(path);
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        ck_assert_int_lt(task_link_read(fd, &pid, &tid), 0);
        ck_assert_int_lt(task_link_read(-1, &pid, &tid), 0);
        fd_close(fd);
}
END_TEST

START_TEST(test_link_opens_nothing) {
        char path[64];
        int fd;

        ck_assert_int_eq(task_link_open(&fd), 0);
        ck_assert_int_lt(openat(fd, "..", O_RDONLY), 0);
        ck_assert_int_lt(openat(fd, "status", O_RDONLY), 0);
        for (const char *const *tail = (const char *const[]){ "", "/", "/..", "/status", NULL };
             *tail;
             tail++) {
                snprintf(path, sizeof(path), "/proc/self/fd/%d%s", fd, *tail);
                ck_assert_msg(open(path, O_RDONLY) < 0, "%s", path);
        }
        fd_close(fd);
}
END_TEST

START_TEST(test_namespace_has_a_number) {
        uint64_t number = 0;

        ck_assert_int_eq(pid_namespace_get(&number), 0);
        ck_assert_uint_ne(number, 0);
}
END_TEST

TEST_MAIN("pid-namespace",
          test_proof_names_the_process_that_made_it,
          test_proof_is_good_for_its_words,
          test_equal_words_do_not_collide,
          test_just_any_descriptor_proves_nothing,
          test_the_end_that_is_passed_names_nobody,
          test_link_tells_each_thread_its_own_numbers,
          test_link_tells_who_is_in_a_namespace_the_numbers_of_outside,
          test_other_links_are_refused,
          test_link_opens_nothing,
          test_namespace_has_a_number)
