/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kernel strings: texts to which records only point
 *
 * Some tracepoints (suspend_resume, rcu_utilization) record the address of a constant text. The kernel lists these
 * texts in the file printk_formats at the top of tracefs, in lines like this: 0xffffffff81a2b3c4 : "machine_suspend".
 */

#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

typedef struct KernelString {
        uint64_t address;
        const char *text;
} KernelString;

typedef struct KernelStrings {
        char *file;
        KernelString *strings; /* by address */
        size_t n_strings;
} KernelStrings;

/* Takes the text of printk_formats, which it changes. Lines that make no sense are skipped. Returns 0 or -ENOMEM. */
int kernel_strings_new(KernelStrings **ret, char *file);
KernelStrings *kernel_strings_free(KernelStrings *strings);
DEFINE_CLEANUP(KernelStrings *, kernel_strings_free)

/* Returns NULL when the kernel lists no text at this address; also when strings is NULL. */
const char *kernel_strings_find(const KernelStrings *strings, uint64_t address);
