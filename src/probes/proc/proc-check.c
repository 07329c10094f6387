/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether linux.process_stats and linux.sys_stats can record here. */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "host/denial.h"
#include "probes/proc/proc-check.h"
#include "shared/fd.h"

#define MOUNT "mount -t proc proc /proc"

static bool can_read(int root, const char *path) {
        return denial_check(root, path, R_OK) == 0;
}

static int refuse_unmounted(char **ret_error) {
        return probe_refuse(ret_error, "/proc is not mounted; mount it: %s", MOUNT);
}

int process_stats_check_at(int root, char **ret_error) {
        return can_read(root, "proc/self/stat") ? 0 : refuse_unmounted(ret_error);
}

/* One of these files is enough: only the config tells which of them a session needs. */
int sys_stats_check_at(int root, char **ret_error) {
        static const char *const files[] = {
                "proc/stat", "proc/meminfo", "proc/vmstat", "sys/devices/system/cpu"
        };

        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (can_read(root, files[i]))
                        return 0;
        if (!can_read(root, "proc/self/stat"))
                return refuse_unmounted(ret_error);
        return probe_refuse(ret_error,
                            "this /proc has only processes (subset=pid), and there is no /sys; "
                            "mount them completely: %s",
                            MOUNT);
}

int process_stats_check(char **ret_error) {
        _cleanup_(fd_closep) int root = denial_open_root();

        return root < 0 ? root : process_stats_check_at(root, ret_error);
}

int sys_stats_check(char **ret_error) {
        _cleanup_(fd_closep) int root = denial_open_root();

        return root < 0 ? root : sys_stats_check_at(root, ret_error);
}
