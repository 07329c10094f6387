/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose account a uid or a process belongs to, from copies of the files that say it. */

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "login-users.h"
#include "shared/macro.h"
#include "test.h"

static char dir[] = "/tmp/desktrace-login-users.XXXXXX";
static char subuid[64], passwd[64], proc[64];
static LoginUsers users;

static void write_file(const char *path, const char *text) {
        FILE *file = fopen(path, "w");

        ck_assert_ptr_nonnull(file);
        ck_assert_int_ge(fputs(text, file), 0);
        ck_assert_int_eq(fclose(file), 0);
}

static void process(pid_t pid, uid_t uid, const char *cgroup) {
        char path[128], text[128];

        snprintf(path, sizeof(path), "%s/%d", proc, (int)pid);
        mkdir(path, 0700);
        snprintf(path, sizeof(path), "%s/%d/status", proc, (int)pid);
        snprintf(text, sizeof(text), "Name:\tx\nUid:\t4\t%u\t5\t6\nGid:\t1\t1\t1\t1\n", uid);
        write_file(path, text);
        snprintf(path, sizeof(path), "%s/%d/cgroup", proc, (int)pid);
        write_file(path, cgroup);
}

static uid_t find(uid_t uid, pid_t pid) {
        return login_users_find(&users, &(Identity){ .uid = uid, .pid = pid });
}

static void setup(void) {
        ck_assert_ptr_nonnull(mkdtemp(dir));
        snprintf(subuid, sizeof(subuid), "%s/subuid", dir);
        snprintf(passwd, sizeof(passwd), "%s/passwd", dir);
        snprintf(proc, sizeof(proc), "%s/proc", dir);
        ck_assert_int_eq(mkdir(proc, 0700), 0);
        write_file(passwd,
                   "root:x:0:0:root:/root:/bin/sh\n"
                   "ann:x:1000:1000::/home/ann:/bin/sh\n"
                   "anna:x:1001:1001::/home/anna:/bin/sh\n"
                   "odd\n"
                   "bob:x:200005:1002::/home/bob:/bin/sh\n");
        write_file(subuid,
                   "ann:100000:65536\n"
                   "anna:200000:65536\n"
                   "1002:300000:65536\n"
                   "root:400000:65536\n"
                   "far.away:500000:65536\n"
                   "broken\nbroken:\nann:x:1\nann:1:\nann:-5:10\nann:99999999999:5\n");
        login_users_init(&users, subuid, passwd, proc);
}

static void teardown(void) {
        char command[128];

        login_users_deinit(&users);
        snprintf(command, sizeof(command), "rm -rf %s", dir);
        ck_assert_int_eq(system(command), 0);
        strcpy(dir + sizeof(dir) - 7, "XXXXXX");
}

START_TEST(test_a_uid_of_its_own_is_its_own_user) {
        static const uid_t uids[] = { 0, 1, 33, 1000, 1001, 99999, 65534, 600000 };

        setup();
        for (size_t i = 0; i < ARRAY_SIZE(uids); i++)
                ck_assert_uint_eq(find(uids[i], 0), uids[i]);
        teardown();
}
END_TEST

START_TEST(test_a_subordinate_uid_is_its_owners) {
        static const struct {
                uid_t uid, user;
        } cases[] = {
                { 100000, 1000 }, { 165535, 1000 }, { 165536, 165536 },
                { 200000, 1001 }, { 300007, 1002 }, { 365535, 1002 },
        };

        setup();
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                ck_assert_uint_eq(find(cases[i].uid, 0), cases[i].user);
        teardown();
}
END_TEST

START_TEST(test_an_account_in_somebody_elses_range_is_its_own) {
        setup();
        ck_assert_uint_eq(find(200005, 0), 200005);
        ck_assert_uint_eq(find(200006, 0), 1001);
        teardown();
}
END_TEST

/* Otherwise those whom root lends uids to would have root's limits. */
START_TEST(test_what_root_lends_is_one_user_that_is_not_root) {
        setup();
        ck_assert_uint_eq(find(400000, 0), 400000);
        ck_assert_uint_eq(find(400999, 0), 400000);
        teardown();
}
END_TEST

START_TEST(test_a_range_of_somebody_unknown_is_one_user) {
        setup();
        ck_assert_uint_eq(find(500001, 0), 500000);
        ck_assert_uint_eq(find(565535, 0), 500000);
        teardown();
}
END_TEST

START_TEST(test_a_process_in_a_users_slice_is_that_users) {
        setup();
        process(10, 700000, "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n");
        process(11,
                700001,
                "12:cpu:/\n1:name=systemd:/user.slice/user-1001.slice/session-2.scope\n");
        process(12, 700002, "0::/system.slice/cron.service\n");
        ck_assert_uint_eq(find(700000, 10), 1000);
        ck_assert_uint_eq(find(700001, 11), 1001);
        ck_assert_uint_eq(find(700002, 12), 700002);
        ck_assert_uint_eq(find(700003, 13), 700003);
        teardown();
}
END_TEST

/* The number may have been given to another process: nobody pays for others. */
START_TEST(test_a_process_with_another_uid_says_nothing) {
        setup();
        process(10, 1001, "0::/user.slice/user-1001.slice/session-2.scope\n");
        ck_assert_uint_eq(find(700000, 10), 700000);
        ck_assert_uint_eq(find(100001, 10), 1000);
        ck_assert_uint_eq(find(1001, 10), 1001);
        teardown();
}
END_TEST

START_TEST(test_names_that_users_give_say_nothing) {
        static const char *const cgroups[] = {
                "0::/system.slice/x.service/user.slice/user-1001.slice\n",
                "0::/user.slice/user-.slice\n",
                "0::/user.slice/user-99999999999.slice\n",
                "0::/user.slice/user-1001x\n",
                "3:cpu:/user.slice/user-1001.slice\n",
                "0::/a:name=systemd:/user.slice/user-1001.slice\n",
                "",
                "0",
                "0:",
        };

        setup();
        for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
                process(10, 700000, cgroups[i]);
                ck_assert_uint_eq(find(700000, 10), 700000);
        }
        teardown();
}
END_TEST

START_TEST(test_root_is_root_and_nobody_else_is) {
        setup();
        process(10, 0, "0::/user.slice/user-1000.slice/session-1.scope\n");
        process(11, 700000, "0::/user.slice/user-0.slice/session-1.scope\n");
        ck_assert_uint_eq(find(0, 10), 0);
        ck_assert_uint_eq(find(700000, 11), 700000);
        teardown();
}
END_TEST

START_TEST(test_changed_files_are_read_again) {
        setup();
        ck_assert_uint_eq(find(100000, 0), 1000);
        write_file(subuid, "anna:100000:10\n");
        ck_assert_uint_eq(find(100000, 0), 1001);
        ck_assert_uint_eq(find(100010, 0), 100010);
        write_file(passwd, "anna:x:1009:1001::/:/bin/sh\n");
        ck_assert_uint_eq(find(100000, 0), 1009);
        ck_assert_int_eq(unlink(subuid), 0);
        ck_assert_uint_eq(find(100000, 0), 100000);
        teardown();
}
END_TEST

START_TEST(test_a_file_that_is_too_long_counts_as_empty) {
        FILE *file;

        setup();
        ck_assert_uint_eq(find(100000, 0), 1000);
        file = fopen(subuid, "a");
        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(ftruncate(fileno(file), LOGIN_USERS_FILE_BYTES_MAX + 1), 0);
        ck_assert_int_eq(fclose(file), 0);
        ck_assert_uint_eq(find(100000, 0), 100000);
        teardown();
}
END_TEST

TEST_MAIN("login-users",
          test_a_file_that_is_too_long_counts_as_empty,
          test_a_uid_of_its_own_is_its_own_user,
          test_a_subordinate_uid_is_its_owners,
          test_an_account_in_somebody_elses_range_is_its_own,
          test_what_root_lends_is_one_user_that_is_not_root,
          test_a_range_of_somebody_unknown_is_one_user,
          test_a_process_in_a_users_slice_is_that_users,
          test_a_process_with_another_uid_says_nothing,
          test_names_that_users_give_say_nothing,
          test_root_is_root_and_nobody_else_is,
          test_changed_files_are_read_again)
