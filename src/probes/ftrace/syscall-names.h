/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Syscall names: numbers of this architecture's system calls
 *
 * The table is made from the C library's <sys/syscall.h> when Desktrace is built.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct SyscallName {
        const char *name;
        uint32_t number;
} SyscallName;

extern const SyscallName syscall_names[];
extern const size_t n_syscall_names;

/* Makes a filter for raw_syscalls events ("id == 0 || id == 1") of names like "read" or "sys_read"; malloc'ed. A name
 * that the call has on machines of another width stands for the call of this one. 32-bit programs on a 64-bit kernel
 * have numbers of their own, which the kernel's events do not tell apart: they are filtered as if they were 64-bit
 * ones. 0, PROBE_E_REFUSED with *ret_error, -ENOMEM. */
int syscall_filter_new(char **ret, char *const *names, size_t n_names, char **ret_error);
