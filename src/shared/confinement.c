/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Confinement: reads cgroups, mounts and AppArmor labels
 *
 * Flatpak mounts a file at /.flatpak-info in each sandbox, and puts the sandbox into a scope of the user's manager:
 * either of the two identifies it. Snap has an AppArmor profile for each program. Where that is not enforced (a classic
 * snap, such as an editor with a terminal) there is no sandbox; the control group is consulted only if the kernel has
 * no AppArmor.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/confinement.h"
#include "shared/fd.h"
#include "shared/macro.h"

#define CGROUP_BYTES_MAX    (64u << 10)
#define MOUNTINFO_BYTES_MAX (1u << 20) /* thousands of containers mount a lot */
#define LABEL_BYTES_MAX     4096
#define PATH_BYTES          64

#define FLATPAK_INFO_MOUNT "/.flatpak-info"
#define MOUNT_FIELD \
        4 /* proc(5): behind the mount's number, its parent's, its device and its root */

static bool begins_with(const char *text, size_t n, const char *prefix) {
        return n >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends_with(const char *text, size_t n, const char *suffix) {
        return n >= strlen(suffix) &&
               memcmp(text + n - strlen(suffix), suffix, strlen(suffix)) == 0;
}

/* Whether `is` holds for any directory in any of the paths. */
static bool cgroup_has(const char *cgroup, bool (*is)(const char *name, size_t n)) {
        while (cgroup && *cgroup) {
                size_t n = strcspn(cgroup, "/\n");

                if (is(cgroup, n))
                        return true;
                cgroup += n + (cgroup[n] != '\0');
        }
        return false;
}

/* Not flatpak-session-helper.service, which runs programs outside. */
static bool is_flatpak_scope(const char *name, size_t n) {
        return (begins_with(name, n, "app-flatpak-") || begins_with(name, n, "flatpak-")) &&
               ends_with(name, n, ".scope");
}

static bool is_snap_unit(const char *name, size_t n) {
        return begins_with(name, n, "snap.") &&
               (ends_with(name, n, ".scope") || ends_with(name, n, ".service"));
}

static bool has_flatpak_info(const char *mountinfo) {
        for (const char *line = mountinfo; line && *line; line = strchr(line, '\n')) {
                const char *at;

                line += *line == '\n';
                at = line;
                for (unsigned i = 0; i < MOUNT_FIELD; i++) {
                        at += strcspn(at, " \n");
                        at += *at == ' ';
                }
                if (begins_with(at, strcspn(at, " \n"), FLATPAK_INFO_MOUNT) &&
                    strcspn(at, " \n") == strlen(FLATPAK_INFO_MOUNT))
                        return true;
        }
        return false;
}

/* "snap.firefox.firefox (enforce)" */
static bool label_is_enforced_snap(const char *label) {
        return begins_with(label, strlen(label), "snap.") && strstr(label, "(enforce)");
}

Confinement confinement_judge(const char *cgroup, const char *mountinfo, const char *label) {
        if (!mountinfo)
                return CONFINEMENT_UNKNOWN;
        if (has_flatpak_info(mountinfo) || cgroup_has(cgroup, is_flatpak_scope))
                return CONFINEMENT_FLATPAK;
        if (label ? label_is_enforced_snap(label) : cgroup_has(cgroup, is_snap_unit))
                return CONFINEMENT_SNAP;
        return CONFINEMENT_NONE;
}

/* NULL and 0 if this kernel has no such file, or none that can be read. */
static int read_of(char **ret, int proc_fd, pid_t pid, const char *file, size_t max) {
        char path[PATH_BYTES];
        int r;

        snprintf(path, sizeof(path), "%d/%s", (int)pid, file);
        *ret = NULL;
        r = fd_read_file(ret, NULL, proc_fd, path, max);
        return r == -ENOMEM || r == -EFBIG ? r : 0;
}

Confinement confinement_read(int proc_fd, pid_t pid) {
        _cleanup_(fd_closep) int own_fd = -1;
        _cleanup_(freep) char *cgroup = NULL, *mountinfo = NULL, *label = NULL;

        if (pid <= 0)
                return CONFINEMENT_UNKNOWN; /* the process belongs to another pid namespace */
        if (proc_fd < 0)
                proc_fd = own_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (proc_fd < 0)
                return CONFINEMENT_UNKNOWN;
        /* A mark that could not be read must not be taken for a missing one. */
        if (read_of(&cgroup, proc_fd, pid, "cgroup", CGROUP_BYTES_MAX) < 0 ||
            read_of(&label, proc_fd, pid, "attr/apparmor/current", LABEL_BYTES_MAX) < 0 ||
            read_of(&mountinfo, proc_fd, pid, "mountinfo", MOUNTINFO_BYTES_MAX) < 0)
                return CONFINEMENT_UNKNOWN;
        return confinement_judge(cgroup, mountinfo, label);
}

const char *confinement_name(Confinement confinement) {
        switch (confinement) {
        case CONFINEMENT_FLATPAK:
                return "Flatpak";
        case CONFINEMENT_SNAP:
                return "Snap";
        default:
                return "a sandbox";
        }
}
