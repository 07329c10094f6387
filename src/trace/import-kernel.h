/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Import of one event of the kernel, in the second pass
 */

#include "trace/import.h"
#include "trace/trace-bundle.h"

typedef struct KernelEvent {
        uint64_t at_ns;
        uint32_t cpu;
        int32_t pid;
        uint32_t flags, symbol;
        WireField body;
        uint64_t numbers[TRACE_KERNEL_FIELDS];
        uint32_t texts[TRACE_KERNEL_FIELDS];
} KernelEvent;

/* Interrupts, timers and work of the kernel: slices of what handles them. Others are none of its business. */
void apply_handler(TraceImport *import, const KernelEvent *event);

/* How much of a kind of memory a process has now. */
void apply_memory_of_process(TraceImport *import, const KernelEvent *event);
