/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads /proc/PID/stat, and the cgroup.events of the process's control group. */

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "shared/fd.h"
#include "suspended.h"

#define FILE_BYTES_MAX 16384

/* proc(5): the state follows the name, which is in parentheses and may contain any bytes. */
static bool stat_says_stopped(const char *stat) {
        const char *state = strrchr(stat, ')');

        return state && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

/* cgroups(7): the line of version 2 is "0::" and the path. A path outside our own cgroup namespace cannot be found
 * here. */
static char *cgroup_path(char *cgroups) {
        char *line = strtok(cgroups, "\n");

        while (line && strncmp(line, "0::/", 4) != 0)
                line = strtok(NULL, "\n");
        return line && !strstr(line, "/..") ? line + 3 : NULL;
}

/* A control group is frozen if any of its ancestors is; the kernel reports it in each of them. */
static bool cgroup_is_frozen(const char *cgroup_root, const char *path) {
        _cleanup_(freep) char *events = NULL;
        char name[PATH_MAX];

        if (snprintf(name, sizeof(name), "%s%s/cgroup.events", cgroup_root, path) >=
                    (int)sizeof(name) ||
            fd_read_file(&events, NULL, AT_FDCWD, name, FILE_BYTES_MAX) < 0)
                return false;
        return strstr(events, "frozen 1\n") != NULL;
}

bool process_is_suspended(const char *proc_root, const char *cgroup_root, pid_t pid) {
        _cleanup_(freep) char *stat = NULL, *cgroups = NULL;
        const char *path;
        char name[PATH_MAX];

        if (pid <= 0 ||
            snprintf(name, sizeof(name), "%s/%d/stat", proc_root, (int)pid) >= (int)sizeof(name))
                return false;
        if (fd_read_file(&stat, NULL, AT_FDCWD, name, FILE_BYTES_MAX) < 0)
                return false;
        if (stat_says_stopped(stat))
                return true;

        snprintf(name, sizeof(name), "%s/%d/cgroup", proc_root, (int)pid);
        if (fd_read_file(&cgroups, NULL, AT_FDCWD, name, FILE_BYTES_MAX) < 0)
                return false;
        path = cgroup_path(cgroups);
        return path && cgroup_is_frozen(cgroup_root, path);
}
