/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Real processes for the states of processes; a made-up tree of control groups. */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../test.h"
#include "shared/fd.h"
#include "suspended.h"

static char root[] = "/tmp/desktrace-suspended-XXXXXX";

static void put(const char *name, const char *text) {
        char path[256];
        FILE *file;

        snprintf(path, sizeof(path), "%s/%s", root, name);
        for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
                *at = 0;
                ck_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
                *at = '/';
        }
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(text, file);
        fclose(file);
}

static bool is_suspended(pid_t pid) {
        return process_is_suspended(root, root, pid);
}

START_TEST(test_stopped_process_is_suspended_until_it_goes_on) {
        pid_t child = fork();
        int status;

        ck_assert_int_ge(child, 0);
        if (child == 0)
                for (;;)
                        pause();
        ck_assert(!process_is_suspended(SUSPENDED_PROC_ROOT, SUSPENDED_CGROUP_ROOT, child));
        kill(child, SIGSTOP);
        ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
        ck_assert(WIFSTOPPED(status));
        ck_assert(process_is_suspended(SUSPENDED_PROC_ROOT, SUSPENDED_CGROUP_ROOT, child));
        kill(child, SIGCONT);
        ck_assert_int_eq(waitpid(child, &status, WCONTINUED), child);
        ck_assert(!process_is_suspended(SUSPENDED_PROC_ROOT, SUSPENDED_CGROUP_ROOT, child));
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        ck_assert(!process_is_suspended(SUSPENDED_PROC_ROOT, SUSPENDED_CGROUP_ROOT, child));
}
END_TEST

/* One process, with its files and what they say. */
static const struct {
        const char *stat, *cgroups, *events;
        bool is_suspended;
} cases[] = {
        { "1 (app) S 1", "0::/a.scope\n", "populated 1\nfrozen 0\n", false },
        { "1 (app) S 1", "0::/a.scope\n", "populated 1\nfrozen 1\n", true },
        { "1 (app) S 1", "1:name=systemd:/x\n0::/a.scope\n", "populated 1\nfrozen 1\n", true },
        { "1 (app) t 1", "0::/a.scope\n", "populated 1\nfrozen 0\n", true },
        { "1 (a) T (b) S 1", "0::/a.scope\n", "populated 1\nfrozen 0\n", false },
        { "1 (app) S 1", "0::/../a.scope\n", "populated 1\nfrozen 1\n", false },
        { "1 (app) S 1", "4:freezer:/a.scope\n", "populated 1\nfrozen 1\n", false },
        { "1 (app) S 1", "", "populated 1\nfrozen 1\n", false },
        { "1 (app", "0::/a.scope\n", "frozen 1", false },
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk) {
        return remove(path);
}

START_TEST(test_states_and_frozen_control_groups_are_understood) {
        ck_assert_ptr_nonnull(mkdtemp(root));
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                put("42/stat", cases[i].stat);
                put("42/cgroup", cases[i].cgroups);
                put("a.scope/cgroup.events", cases[i].events);
                ck_assert_msg(is_suspended(42) == cases[i].is_suspended, "case %zu", i);
        }
        ck_assert(!is_suspended(43));
        ck_assert(!is_suspended(0));
        ck_assert(!is_suspended(-1));
        ck_assert_int_eq(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

TEST_MAIN("suspended",
          test_stopped_process_is_suspended_until_it_goes_on,
          test_states_and_frozen_control_groups_are_understood)
