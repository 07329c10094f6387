/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf kernel: the kernel's part of a call stack
 *
 * Its frames are added as addresses, and get their names before the stack is written. Until then the addresses stay in
 * memory; they are never written into a trace, as they would reveal where the kernel is.
 */

#include "probes/ftrace/kernel-symbols.h"
#include "probes/perf/perf-records.h"
#include "probes/perf/stack-table.h"

#define PERF_KERNEL_KNOWN_BITS 10

/* What an address was found to be. */
typedef struct KnownFunction {
        uint64_t address; /* 0: nothing yet */
        const KernelSymbol *symbol;
} KnownFunction;

typedef struct PerfKernel {
        StackModule module;
        KernelSymbols *symbols; /* NULL: there are no names so far */
        /* By a hash of the address, as each search is a dozen cache misses. */
        KnownFunction known[1 << PERF_KERNEL_KNOWN_BITS];
} PerfKernel;

void perf_kernel_init(PerfKernel *kernel, StackModule module);
void perf_kernel_deinit(PerfKernel *kernel);

/* Begins to read the names: 0 or a negative errno. */
int perf_kernel_read(PerfKernel *kernel);
/* Whether the names are still being read, so that the next call would wait for them. */
bool perf_kernel_is_reading(const PerfKernel *kernel);
/* Names the kernel's frames of the current stack. */
void perf_kernel_name(PerfKernel *kernel, StackTable *stacks);

/* Whether the stack, whose frames have names, is that of a thread that becomes another program or ends. */
bool perf_kernel_has_given_up(const PerfKernel *kernel, const StackTable *stacks);
/* Leaves frames alone that are not the kernel's. */
void perf_kernel_leave_alone(const PerfKernel *kernel, StackTable *stacks);
