/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* This program is the service as well, as which it is told by the environment what to do. */

#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "client/descriptor-store.h"
#include "client/service-keeper.h"
#include "shared/fd.h"
#include "test.h"

#define WAIT_MS      20000
#define NAME_BYTES   64
#define INHERITED_FD 100

/*
 * The service
 */

static void store(const char *name, const char *content) {
        const int fd = memfd_create(name, MFD_CLOEXEC);
        g_autofree char *text = g_strdup_printf("FDSTORE=1\nFDNAME=%s", name);

        (void)!write(fd, content, strlen(content));
        sd_pid_notify_with_fds(0, false, text, &fd, 1);
        close(fd);
}

/* What it was passed, one word each, and what was stored of it: to whom it may interest. */
static void tell(int fd) {
        char **names = NULL;
        const int n = sd_listen_fds_with_names(false, &names);
        g_autoptr(GString) text = g_string_new(NULL);

        for (int i = 0; i < n; i++) {
                char content[NAME_BYTES] = "";

                (void)!pread(SD_LISTEN_FDS_START + i, content, sizeof(content) - 1, 0);
                g_string_append_printf(text, "%s=%s ", names[i], content);
                free(names[i]);
        }
        free(names);
        (void)!write(fd, text->str, text->len);
}

/* The first process keeps two things, the second one drops one of them and keeps two more; both are killed. */
static void serve_kept(int fd) {
        const int n = sd_listen_fds(false);

        tell(fd);
        if (n == 1) {
                store("dropped", "x");
                store("one", "first");
        } else if (n == 3) {
                sd_notify(0, "FDSTOREREMOVE=1\nFDNAME=dropped");
                store("two", "second");
                store("three", "third");
        }
        sd_notify(0, "READY=1");
        if (n < 4)
                kill(getpid(), SIGKILL);
        pause();
}

static int serve(const char *how, int fd) {
        if (streq(how, "kept"))
                serve_kept(fd);
        tell(fd);
        if (!streq(how, "unready"))
                sd_notify(0, "READY=1");
        if (streq(how, "ending"))
                return 0;
        return 7;
}

/*
 * The keeper
 */

typedef struct Fixture {
        char *directory;
        int fds[2]; /* what the service tells */
        ServiceKeeper *keeper;
} Fixture;

static void fixture_init(Fixture *fixture, const char *how) {
        g_autofree char *program = g_file_read_link("/proc/self/exe", NULL), *path = NULL,
                        *number = NULL;
        int sockets[2];

        fixture->directory = g_dir_make_tmp("desktrace-test-XXXXXX", NULL);
        path = g_build_filename(fixture->directory, "notify", NULL);
        ck_assert_int_eq(pipe(sockets), 0);
        fixture->fds[0] = sockets[0];
        fixture->fds[1] = fcntl(sockets[1], F_DUPFD, INHERITED_FD); /* off those that are passed */
        close(sockets[1]);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        number = g_strdup_printf("%d", fixture->fds[1]);
        g_setenv("TEST_HOW", how, true);
        g_setenv("TEST_FD", number, true);
        ck_assert_int_eq(
                service_keeper_new(&fixture->keeper,
                                   &(ServiceKeeperOptions){
                                           .program = program,
                                           .notify_path = path,
                                           .listening = &(ProcessSocket){ sockets[0], "native" },
                                           .n_listening = 1,
                                   }),
                0);
        close(sockets[0]);
        close(sockets[1]);
}

static void fixture_deinit(Fixture *fixture) {
        service_keeper_free(fixture->keeper);
        close(fixture->fds[0]);
        close(fixture->fds[1]);
        ck_assert_int_eq(rmdir(fixture->directory), 0); /* nothing is left in it */
        g_free(fixture->directory);
}

/* Until the text is there. */
static void check_told(Fixture *fixture, const char *wanted) {
        char text[1024] = "";
        size_t n = 0;
        ssize_t n_read = 1;

        while (n < strlen(wanted) && n_read > 0) {
                struct pollfd pollfd = { .fd = fixture->fds[0], .events = POLLIN };

                ck_assert_int_eq(poll(&pollfd, 1, WAIT_MS), 1);
                n_read = read(fixture->fds[0], text + n, sizeof(text) - 1 - n);
                n += (size_t)MAX(n_read, 0);
        }
        ck_assert_str_eq(text, wanted);
}

static void check_fails(Fixture *fixture, int wanted_status) {
        int status = -1;

        for (int i = 0; i < 40 && !service_keeper_has_failed(fixture->keeper, &status); i++)
                ;
        ck_assert(service_keeper_has_failed(fixture->keeper, &status));
        ck_assert_int_eq(status, wanted_status);
}

START_TEST(test_what_a_killed_service_has_stored_is_there_for_the_next) {
        Fixture fixture;

        fixture_init(&fixture, "kept");
        check_told(&fixture,
                   "native= "
                   "native= dropped=x one=first "
                   "native= one=first two=second three=third ");
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_one_that_fails_before_it_is_ready_is_not_started_again) {
        Fixture fixture;

        fixture_init(&fixture, "unready");
        check_fails(&fixture, 7);
        check_told(&fixture, "native= ");
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_one_that_ends_is_not_started_again) {
        Fixture fixture;

        fixture_init(&fixture, "ending");
        check_fails(&fixture, 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_one_that_always_fails_is_started_a_few_times) {
        Fixture fixture;

        fixture_init(&fixture, "failing");
        check_fails(&fixture, 7);
        ck_assert_int_eq(SERVICE_STARTS_MAX, 5);
        check_told(&fixture, "native= native= native= native= native= ");
        fixture_deinit(&fixture);
}
END_TEST

/*
 * The store
 */

static void send_fd(int fd, const char *text, int passed) {
        char control[CMSG_SPACE(sizeof(int))] = "";
        struct iovec iovec = { .iov_base = (char *)text, .iov_len = strlen(text) };
        struct msghdr message = { .msg_iov = &iovec,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof(control) };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &passed, sizeof(passed));
        ck_assert_int_eq(sendmsg(fd, &message, 0), (ssize_t)strlen(text));
}

static void make_pair(int ret[static 2]) {
        const int yes = 1;

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ret), 0);
        ck_assert_int_eq(setsockopt(ret[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)), 0);
}

START_TEST(test_a_store_takes_only_what_it_may) {
        static const char *const bad[] = {
                "FDSTORE=1\nFDNAME=a:b",
                "FDSTORE=1\nFDNAME=a b",
                "FDSTORE=1\nFDNAME=",
                "FDSTORE=1",
                "FDNAME=a",
                "FDSTORE=0\nFDNAME=a",
                "\nFDNAME",
        };
        DescriptorStore store = { 0 };
        bool is_ready = false;
        g_autofree char *is_long = g_strdup_printf("FDSTORE=1\nFDNAME=%0256d", 0),
                        *is_huge = g_strdup_printf("FDSTORE=1\nFDNAME=a\n%05000d", 0);
        int fds[2];

        make_pair(fds);
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                send_fd(fds[1], bad[i], 0);
        send_fd(fds[1], is_long, 0);
        send_fd(fds[1], is_huge, 0);
        while (descriptor_store_hear(&store, fds[0], getpid(), &is_ready))
                ;
        ck_assert_uint_eq(store.n, 0);
        send_fd(fds[1], "READY=1\nFDSTORE=1\nFDNAME=a", 0);
        ck_assert(descriptor_store_hear(&store, fds[0], getpid() + 1, &is_ready));
        ck_assert(!is_ready);
        ck_assert_uint_eq(store.n, 0);
        send_fd(fds[1], "READY=1\nFDSTORE=1\nFDNAME=a", 0);
        ck_assert(descriptor_store_hear(&store, fds[0], getpid(), &is_ready));
        ck_assert(is_ready);
        ck_assert_uint_eq(store.n, 1);
        ck_assert_str_eq(store.all[0].name, "a");
        descriptor_store_clear(&store);
        close(fds[0]);
        close(fds[1]);
}
END_TEST

START_TEST(test_a_store_is_bounded_and_keeps_the_sockets) {
        DescriptorStore store = { 0 };
        bool is_ready;
        int fds[2];

        make_pair(fds);
        descriptor_store_add(&store, "socket", dup(0));
        descriptor_store_seal(&store);
        for (size_t i = 0; i < DESCRIPTOR_STORE_MAX + 10; i++) {
                send_fd(fds[1], "FDSTORE=1\nFDNAME=a", 0);
                ck_assert(descriptor_store_hear(&store, fds[0], getpid(), &is_ready));
        }
        ck_assert_uint_eq(store.n, DESCRIPTOR_STORE_MAX);
        send_fd(fds[1], "FDSTOREREMOVE=1\nFDNAME=socket", 0);
        ck_assert(descriptor_store_hear(&store, fds[0], getpid(), &is_ready));
        ck_assert_uint_eq(store.n, DESCRIPTOR_STORE_MAX);
        send_fd(fds[1], "FDSTOREREMOVE=1\nFDNAME=a", 0);
        ck_assert(descriptor_store_hear(&store, fds[0], getpid(), &is_ready));
        ck_assert_uint_eq(store.n, 1);
        descriptor_store_clear(&store);
        close(fds[0]);
        close(fds[1]);
}
END_TEST

int main(void) {
        const TTest *tests[] = {
                test_what_a_killed_service_has_stored_is_there_for_the_next,
                test_one_that_fails_before_it_is_ready_is_not_started_again,
                test_one_that_ends_is_not_started_again,
                test_one_that_always_fails_is_started_a_few_times,
                test_a_store_takes_only_what_it_may,
                test_a_store_is_bounded_and_keeps_the_sockets,
        };

        if (g_getenv("SYSTEMD_EXEC_PID") && g_getenv("TEST_HOW"))
                return serve(g_getenv("TEST_HOW"), atoi(g_getenv("TEST_FD")));
        return test_run("client-service-keeper", tests, ARRAY_SIZE(tests));
}
