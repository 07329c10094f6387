/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Confinement: whether a process runs in a sandbox such as Flatpak's or Snap's
 *
 * The answer comes from what the kernel tells every process: the control group, the mounts, the AppArmor label. None of
 * these is a file that the peer controls, so reading them never blocks on the peer; and a process cannot get rid of
 * them from within the sandbox. The proxy through which Flatpak's programs reach the bus has the same marks.
 *
 * /proc may not show it (hidepid=, the process has ended, or memory has run out). Then the answer is unknown, and
 * the caller should assume the worst. hidepid= does not affect the system's service: its unit has a /proc of its own
 * without that option.
 */

#include <stddef.h>
#include <sys/types.h>

typedef enum Confinement {
        CONFINEMENT_UNKNOWN,
        CONFINEMENT_NONE,
        CONFINEMENT_FLATPAK,
        CONFINEMENT_SNAP,
} Confinement;

/* Looks up a process below `proc_fd` (/proc; -1: the /proc of this program). */
Confinement confinement_read(int proc_fd, pid_t pid);

/* The same from the texts of PID/cgroup, PID/mountinfo and PID/attr/apparmor/current; the first and the last may be
 * NULL: the kernel has none. */
Confinement confinement_judge(const char *cgroup, const char *mountinfo, const char *label);

/* The kind of sandbox for error texts: "Flatpak"; "a sandbox" if it is not known. */
const char *confinement_name(Confinement confinement);
