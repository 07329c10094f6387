/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <sys/prctl.h>
#include <unistd.h>

#include "client/process.h"
#include "test.h"

#define NAME_BYTES 16 /* of a thread, for the kernel */

static int seen_fd = -1;

/* Instead of the C library's, in the child: tells what a recording would see now. */
int execvp(const char *file, char *const argv[]) {
        char name[NAME_BYTES] = "";

        prctl(PR_GET_NAME, name);
        (void)!write(seen_fd, name, sizeof(name));
        _exit(0);
}

static void check_name(const char *command, const char *wanted) {
        const ProcessSpec spec = { .argv = (const char *const[]){ command, NULL } };
        char seen[NAME_BYTES] = "";
        int fds[2];
        pid_t pid;

        ck_assert_int_eq(pipe(fds), 0);
        seen_fd = fds[1];
        ck_assert_int_eq(process_spawn(&pid, &spec), 0);
        ck_assert_int_eq(read(fds[0], seen, sizeof(seen)), sizeof(seen));
        ck_assert_str_eq(seen, wanted);
        ck_assert_int_eq(process_wait(&pid, 10000), 0);
        close(fds[0]);
        close(fds[1]);
}

/* Where the kernel's events are not recorded, nothing says later that the name has changed. */
START_TEST(test_a_command_has_its_name_before_it_runs) {
        check_name("true", "true");
        check_name("/usr/bin/true", "true");
        check_name("./a-very-long-name-of-a-program", "a-very-long-nam");
}
END_TEST

TEST_MAIN("client-process", test_a_command_has_its_name_before_it_runs)
