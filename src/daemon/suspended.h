/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Whether a process is suspended
 *
 * That is, none of its code runs until somebody lets it go on: it was stopped by a signal or is held by a debugger
 * (/proc/PID/stat), or its control group is frozen (cgroup v2: cgroup.events). Reads two or three small files, whose
 * roots are arguments for the tests' sake.
 */

#include <stdbool.h>
#include <sys/types.h>

#define SUSPENDED_PROC_ROOT   "/proc"
#define SUSPENDED_CGROUP_ROOT "/sys/fs/cgroup"

/* false also when it cannot be told: no such process, files that may not be read, no cgroup v2. */
bool process_is_suspended(const char *proc_root, const char *cgroup_root, pid_t pid);
