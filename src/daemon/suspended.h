/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Whether a process is suspended
 *
 * None of the code of a suspended process runs until it is resumed: it was stopped by a signal, is held by a debugger
 * (/proc/PID/stat), or its control group is frozen (cgroup v2: cgroup.events). Reads two or three small files below
 * roots that are arguments, for the sake of the tests.
 */

#include <stdbool.h>
#include <sys/types.h>

#define SUSPENDED_PROC_ROOT   "/proc"
#define SUSPENDED_CGROUP_ROOT "/sys/fs/cgroup"

/* Also false if it cannot be determined: no such process, unreadable files, no cgroup v2. */
bool process_is_suspended(const char *proc_root, const char *cgroup_root, pid_t pid);
