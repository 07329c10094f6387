/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether this machine lets us record kernel events: checks what instance_new() needs, without making an instance */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "host/denial.h"
#include "host/probe.h"
#include "probes/ftrace/ftrace-check.h"
#include "shared/fd.h"

#define TRACING "sys/kernel/tracing"
#define OLD_TRACING \
        "sys/kernel/debug/tracing" /* before Linux 4.1, and wherever debugfs includes it */
#define MOUNT "mount -t tracefs tracefs /" TRACING

static int refuse_file(char **ret_error, int root, const char *file, int error) {
        char why[DENIAL_BYTES];

        denial_explain(why, root, error, CAP_DAC_OVERRIDE);
        return probe_refuse(ret_error, "cannot open /%s: %s%s", file, strerror(error), why);
}

/* Where tracefs is not mounted, the directory exists and is empty. */
static bool is_mounted(int root, const char *path) {
        _cleanup_(fd_closep) int dir = openat(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

        int r = dir < 0 ? -ENOENT : denial_check(dir, "events", F_OK);

        return r == 0 || r == -EACCES;
}

/* When recording begins, libtracefs mounts tracefs if it is allowed to. */
static int check_unmounted(int root, char **ret_error) {
        int r = denial_check(root, TRACING, F_OK);

        if (r == -EACCES)
                return refuse_file(ret_error, root, TRACING, -r);
        if (r < 0)
                return probe_refuse(
                        ret_error,
                        "this kernel offers no tracefs: there is no /%s; use one that is "
                        "built with CONFIG_TRACING, or mount /sys",
                        TRACING);
        if (denial_has_capability(root, CAP_SYS_ADMIN))
                return 0;
        return probe_refuse(ret_error, "tracefs is not mounted; mount it: %s", MOUNT);
}

/* Lockdown closes the files, but not the directories. */
static int check_files(int root, const char *path, int tracing, char **ret_error) {
        static const char *const files[] = { "trace_clock", "instances" };

        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                _cleanup_(fd_closep) int fd = -1;
                char file[128];
                int r;

                snprintf(file, sizeof(file), "%s/%s", path, files[i]);
                fd = openat(tracing, files[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
                if (fd < 0 && errno == ENOENT && i > 0)
                        return probe_refuse(
                                ret_error,
                                "this kernel's tracefs has no instances; use Linux 3.10 or newer");
                if (fd < 0)
                        return refuse_file(ret_error, root, file, errno);
                r = i > 0 ? denial_check(tracing, files[i], W_OK | X_OK) : 0;
                if (r < 0)
                        return refuse_file(ret_error, root, file, -r);
        }
        return 0;
}

int ftrace_check_at(int root, char **ret_error) {
        const char *path = is_mounted(root, TRACING) ? TRACING : OLD_TRACING;
        _cleanup_(fd_closep) int tracing = -1;

        if (!is_mounted(root, path))
                return check_unmounted(root, ret_error);
        tracing = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (tracing < 0)
                return refuse_file(ret_error, root, path, errno);
        return check_files(root, path, tracing, ret_error);
}

int ftrace_check(char **ret_error) {
        _cleanup_(fd_closep) int root = denial_open_root();

        return root < 0 ? root : ftrace_check_at(root, ret_error);
}
