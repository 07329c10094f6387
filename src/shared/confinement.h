/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Confinement: whether a process is in a sandbox that its user gave it, such as Flatpak's or Snap's
 *
 * By what the kernel says to everybody: its control group, its mounts, its AppArmor label. None of it is a file of the
 * peer's, so reading it cannot wait for him; and no process gets rid of it from within the sandbox. The proxy through
 * which Flatpak's programs reach the bus has the same marks.
 *
 * /proc may not say (hidepid=, or the process has ended). Then it is not known, and who asks should think of the worst.
 * The system's service is not affected by hidepid=: its unit has a /proc of its own, without.
 */

#include <stddef.h>
#include <sys/types.h>

typedef enum Confinement {
        CONFINEMENT_UNKNOWN,
        CONFINEMENT_NONE,
        CONFINEMENT_FLATPAK,
        CONFINEMENT_SNAP,
} Confinement;

/* Of a process below `proc_fd` (/proc; -1: that of this program). */
Confinement confinement_read(int proc_fd, pid_t pid);

/* The same from the texts of PID/cgroup, PID/mountinfo and PID/attr/apparmor/current; the first and the last may be
 * NULL: the kernel has none. */
Confinement confinement_judge(const char *cgroup, const char *mountinfo, const char *label);

/* "Flatpak"; for errors: "a sandbox" if it is not known. */
const char *confinement_name(Confinement confinement);
