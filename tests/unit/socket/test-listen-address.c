/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "listen-address.h"
#include "shared/fd.h"
#include "test.h"

static char directory[] = "/tmp/desktrace-test-XXXXXX";
static char path[64];
static int fd = -1;
static char *to_remove;

static int open_address(const char *address, mode_t mode) {
        fd = fd_close(fd);
        free(to_remove);
        to_remove = NULL;
        return listen_address_open(&fd, &to_remove, address, strlen(address), mode);
}

static void setup(void) {
        strcpy(directory + strlen(directory) - 6, "XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(directory));
        snprintf(path, sizeof(path), "%s/a,b.sock", directory);
}

static void teardown(void) {
        fd = fd_close(fd);
        free(to_remove);
        to_remove = NULL;
        unlink(path);
        rmdir(directory);
}

static bool can_connect(const char *where) {
        _cleanup_(fd_closep) int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const size_t n = strlen(where);

        memcpy(address.sun_path, where, n);
        if (where[0] == '@')
                address.sun_path[0] = '\0';
        return connect(client,
                       (struct sockaddr *)&address,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) == 0;
}

START_TEST(test_a_list_has_the_names_between_its_commas) {
        static const struct {
                const char *list;
                size_t n;
                const char *last;
        } cases[] = {
                { "", 0, NULL },      { ",,", 0, NULL },       { "/a", 1, "/a" },
                { "/a,@b", 2, "@b" }, { ",/a,,@b,", 2, "@b" },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                const char *at = cases[i].list, *name, *last = NULL;
                size_t n_name, n = 0, n_last = 0;

                while (listen_address_next(&at, &name, &n_name)) {
                        n++;
                        last = name;
                        n_last = n_name;
                }
                ck_assert_uint_eq(n, cases[i].n);
                ck_assert(!last || (strlen(cases[i].last) == n_last &&
                                    strncmp(last, cases[i].last, n_last) == 0));
        }
}
END_TEST

START_TEST(test_a_path_is_listened_at_with_its_permissions) {
        struct stat st;

        setup();
        ck_assert_int_eq(open_address(path, 0606), 0);
        ck_assert_str_eq(to_remove, path);
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert(S_ISSOCK(st.st_mode));
        ck_assert_uint_eq(st.st_mode & 0777, 0606);
        ck_assert(can_connect(path));
        teardown();
}
END_TEST

START_TEST(test_an_abstract_name_is_listened_at) {
        char name[64];

        snprintf(name, sizeof(name), "@desktrace-test-%d", (int)getpid());
        ck_assert_int_eq(open_address(name, 0600), 0);
        ck_assert_ptr_null(to_remove);
        ck_assert(can_connect(name));
        teardown();
}
END_TEST

START_TEST(test_a_socket_that_is_left_over_is_replaced) {
        setup();
        ck_assert_int_eq(open_address(path, 0600), 0);
        fd = fd_close(fd); /* nobody listens now */
        ck_assert(!can_connect(path));
        ck_assert_int_eq(open_address(path, 0600), 0);
        ck_assert(can_connect(path));
        teardown();
}
END_TEST

START_TEST(test_an_address_in_use_is_left_alone) {
        int first;

        setup();
        ck_assert_int_eq(open_address(path, 0600), 0);
        first = TAKE_FD(fd);
        ck_assert_int_eq(open_address(path, 0600), LISTEN_E_IN_USE);
        ck_assert(can_connect(path));
        close(first);
        unlink(path);

        first = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* no socket at all */
        ck_assert_int_eq(open_address(path, 0600), LISTEN_E_IN_USE);
        ck_assert_int_eq(access(path, F_OK), 0);
        close(first);
        teardown();
}
END_TEST

START_TEST(test_other_families_and_lengths_are_refused) {
        char longest[256];

        ck_assert_int_eq(open_address("127.0.0.1:20001", 0600), LISTEN_E_FAMILY);
        ck_assert_int_eq(open_address("[::1]:20001", 0600), LISTEN_E_FAMILY);
        ck_assert_int_eq(open_address("vsock://1:20001", 0600), LISTEN_E_FAMILY);
        ck_assert_int_eq(open_address("", 0600), LISTEN_E_LENGTH);
        memset(longest, 'a', sizeof(longest));
        longest[0] = '@';
        for (size_t n = sizeof(((struct sockaddr_un *)NULL)->sun_path); n < sizeof(longest); n++) {
                longest[0] = '/';
                ck_assert_int_eq(listen_address_open(&fd, &to_remove, longest, n, 0600),
                                 LISTEN_E_LENGTH);
                longest[0] = '@';
                if (n > sizeof(((struct sockaddr_un *)NULL)->sun_path))
                        ck_assert_int_eq(listen_address_open(&fd, &to_remove, longest, n, 0600),
                                         LISTEN_E_LENGTH);
        }
        ck_assert_int_eq(open_address("/nonexistent/desktrace.sock", 0600), -ENOENT);
}
END_TEST

TEST_MAIN("listen-address",
          test_a_list_has_the_names_between_its_commas,
          test_a_path_is_listened_at_with_its_permissions,
          test_an_abstract_name_is_listened_at,
          test_a_socket_that_is_left_over_is_replaced,
          test_an_address_in_use_is_left_alone,
          test_other_families_and_lengths_are_refused)
