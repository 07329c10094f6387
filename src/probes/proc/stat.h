/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * /proc/stat, as fields of perfetto.protos.SysStats
 */

#include <stdint.h>

#include "wire/wire-writer.h"

/* Bits: 1 << SysStatsConfig.StatCounters. */
enum {
        STAT_CPU_TIMES = 1 << 1,
        STAT_IRQ_COUNTS = 1 << 2,
        STAT_SOFTIRQ_COUNTS = 1 << 3,
        STAT_FORK_COUNT = 1 << 4,
        STAT_ALL = STAT_CPU_TIMES | STAT_IRQ_COUNTS | STAT_SOFTIRQ_COUNTS | STAT_FORK_COUNT,
};

/* `ticks_per_second`: the unit of the file's times, sysconf(_SC_CLK_TCK). Times are written in ns. Interrupts that
 * never came are left out. */
void stat_encode(const char *text, unsigned wanted, uint64_t ticks_per_second, WireWriter *wire);
