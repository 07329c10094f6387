/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which processes are in a sandbox, by what /proc says of them. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/confinement.h"
#include "shared/fd.h"
#include "test.h"

#define HOST "22 27 0:21 / /proc rw,relatime - proc proc rw\n27 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
#define FLATPAK                                \
        "60 59 0:51 / / rw - tmpfs tmpfs rw\n" \
        "61 60 0:52 /info /.flatpak-info ro,nosuid - tmpfs tmpfs rw\n"
#define USER "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"

START_TEST(test_a_sandbox_is_known_by_its_marks) {
        static const struct {
                const char *cgroup, *mountinfo, *label;
                Confinement confinement;
        } cases[] = {
                { USER "app-gnome-terminal-1.scope", HOST, NULL, CONFINEMENT_NONE },
                { NULL, HOST, NULL, CONFINEMENT_NONE },
                { "0::/\n", FLATPAK, NULL, CONFINEMENT_FLATPAK },
                { USER "app-flatpak-org.gnome.Builder-77.scope\n",
                  HOST,
                  NULL,
                  CONFINEMENT_FLATPAK },
                { USER "flatpak-org.gnome.Builder-77.scope", HOST, NULL, CONFINEMENT_FLATPAK },
                { USER "app-flatpak-org.x-77.scope/inner", HOST, NULL, CONFINEMENT_FLATPAK },
                { "1:name=systemd:/a\n" USER "app-flatpak-a-1.scope\n",
                  HOST,
                  NULL,
                  CONFINEMENT_FLATPAK },
                { USER "flatpak-session-helper.service", HOST, NULL, CONFINEMENT_NONE },
                { USER "snap.firefox.firefox-1.scope", HOST, NULL, CONFINEMENT_SNAP },
                { "0::/system.slice/snap.lxd.daemon.service", HOST, NULL, CONFINEMENT_SNAP },
                { USER "x.scope", HOST, "snap.firefox.firefox (enforce)\n", CONFINEMENT_SNAP },
                { USER "snap.code.code-1.scope",
                  HOST,
                  "snap.code.code (complain)\n",
                  CONFINEMENT_NONE },
                { USER "snap.code.code-1.scope", HOST, "unconfined\n", CONFINEMENT_NONE },
                { USER "app-flatpak-a-1.scope", HOST, "unconfined\n", CONFINEMENT_FLATPAK },
                { "0::/\n",
                  "61 60 0:52 / /x/.flatpak-info ro - tmpfs t rw\n",
                  NULL,
                  CONFINEMENT_NONE },
                { "0::/\n",
                  "61 60 0:52 / /.flatpak-info2 ro - tmpfs t rw\n",
                  NULL,
                  CONFINEMENT_NONE },
                { "0::/\n", "61 60\n\n \n/.flatpak-info", NULL, CONFINEMENT_NONE },
                { "0::/\n", "", NULL, CONFINEMENT_NONE },
                { "0::/\n", NULL, "unconfined", CONFINEMENT_UNKNOWN },
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                ck_assert_msg(confinement_judge(cases[i].cgroup,
                                                cases[i].mountinfo,
                                                cases[i].label) == cases[i].confinement,
                              "case %zu",
                              i);
}
END_TEST

START_TEST(test_a_process_that_cannot_be_inspected_is_unknown) {
        pid_t pid = fork();

        if (pid == 0)
                _exit(0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        ck_assert_int_eq(confinement_read(-1, pid), CONFINEMENT_UNKNOWN);
        ck_assert_int_eq(confinement_read(-1, 0), CONFINEMENT_UNKNOWN);
        ck_assert_int_ne(confinement_read(-1, getpid()), CONFINEMENT_UNKNOWN);
}
END_TEST

static void write_mark(int dir_fd, const char *name, const char *text) {
        _cleanup_(fd_closep) int fd =
                openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

/* A control group too long to be read may be that of a sandbox. */
START_TEST(test_marks_that_cannot_be_read_are_not_missing_ones) {
        static char long_cgroup[70 << 10];
        char path[] = "/tmp/desktrace-test.XXXXXX", command[64];
        _cleanup_(fd_closep) int proc_fd = -1;

        memset(long_cgroup, 'x', sizeof(long_cgroup) - 1);
        ck_assert_ptr_nonnull(mkdtemp(path));
        proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_eq(mkdirat(proc_fd, "7", 0700), 0);
        write_mark(proc_fd, "7/mountinfo", HOST);
        ck_assert_int_eq(confinement_read(proc_fd, 7), CONFINEMENT_NONE);
        write_mark(proc_fd, "7/cgroup", long_cgroup);
        ck_assert_int_eq(confinement_read(proc_fd, 7), CONFINEMENT_UNKNOWN);
        write_mark(proc_fd, "7/cgroup", USER "app-flatpak-a-1.scope\n");
        ck_assert_int_eq(confinement_read(proc_fd, 7), CONFINEMENT_FLATPAK);
        snprintf(command, sizeof(command), "rm -r %s", path);
        ck_assert_int_eq(system(command), 0);
}
END_TEST

TEST_MAIN("confinement",
          test_a_sandbox_is_known_by_its_marks,
          test_marks_that_cannot_be_read_are_not_missing_ones,
          test_a_process_that_cannot_be_inspected_is_unknown)
