/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Import of single kernel events, in the second pass
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

/* Converts a time in a bundle, which is by the boot clock, to trace time. Returns false if that is unknown. */
static inline bool import_kernel_time(TraceImport *import, uint64_t *at_ns) {
        return trace_clocks_trace_time(import->clocks) == TRACE_CLOCK_BOOTTIME ||
               import_boottime(import, at_ns);
}

/* Interrupts, timers and work items: turns their handlers into slices, and ignores all other events. */
void apply_handler(TraceImport *import, const KernelEvent *event);

/* How much memory of one kind a process has now. */
void apply_memory_of_process(TraceImport *import, const KernelEvent *event);
