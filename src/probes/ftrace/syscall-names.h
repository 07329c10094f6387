/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Syscall names: the numbers of this architecture's system calls
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

/* Makes a filter for raw_syscalls events ("id == 0 || id == 1") from names like "read" or "sys_read"; malloc'ed. A
 * name that a call has on machines of another width stands for this machine's call. 32-bit programs on a 64-bit
 * kernel have other numbers, but the kernel's events do not tell them apart: they are filtered as if they were
 * 64-bit programs. Returns 0, -ENOMEM, or PROBE_E_REFUSED with *ret_error. */
int syscall_filter_new(char **ret, char *const *names, size_t n_names, char **ret_error);
