/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What tests of live kernel events need of the machine.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <tracefs.h>
#include <unistd.h>

#define PID_NAMESPACE_FIRST 0xeffffffcu /* inode number, from the kernel's proc_ns.h */

/* The kernel's events name the pids of the first namespace, which a container cannot compare with its own. */
static inline bool kernel_names_our_pids(void) {
        struct stat st;

        return stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == PID_NAMESPACE_FIRST;
}

/* NULL, or why the test cannot run. */
static inline const char *kernel_why_not(void) {
        if (geteuid() != 0)
                return "kernel events need root";
        if (!tracefs_tracing_dir())
                return "no tracefs";
        return kernel_names_our_pids() ? NULL
                                       : "in a pid namespace: the kernel's pids are not ours";
}
