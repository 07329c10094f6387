/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A mount namespace of a test's own: nothing that is mounted there is seen outside. A container has no right to make
 * one, and in a chroot that is no mount point it would not be separate.
 */

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns 0 or a negative errno. `more`: other namespaces to enter with it. */
static inline int namespace_enter(int more) {
        if (unshare(CLONE_NEWNS | more) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return -errno;
        return 0;
}

static inline bool namespace_is_allowed(int more) {
        pid_t pid = fork();
        int status;

        if (pid == 0)
                _exit(namespace_enter(more) < 0);
        return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
