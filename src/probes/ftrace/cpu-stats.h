/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * CPU stats: the kernel's counters of one CPU's ring, as perfetto.protos.FtraceCpuStats
 *
 * With the counters of the start and the end, a reader can prove that nothing was lost.
 */

#include <stdint.h>

#include "wire/wire-writer.h"

typedef struct CpuStats {
        uint32_t cpu;
        uint64_t entries;        /* events in the ring that have not been read */
        uint64_t overrun;        /* events overwritten before they were read */
        uint64_t commit_overrun; /* events lost to nested interrupts */
        uint64_t n_bytes;
        uint64_t oldest_event_us, now_us;
        uint64_t dropped_events; /* events refused because the ring was full */
        uint64_t read_events;
} CpuStats;

/* Parses the text of per_cpu/cpuN/stats. Counters that a kernel does not have stay 0. */
void cpu_stats_parse(CpuStats *ret, uint32_t cpu, const char *text);

/* Appends FtraceStats.cpu_stats. */
void cpu_stats_encode(const CpuStats *stats, WireWriter *wire);
