/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * /proc/stat, as fields of perfetto.protos.SysStats
 *
 * The time that a CPU spent in virtual machines has no field there: the kernel also counts it as user time, and so do
 * readers. How much of the user time it is becomes a track of its own, on machines that have any.
 */

#include <stdint.h>

#include "host/track-writer.h"
#include "wire/wire-writer.h"

/* Bits: 1 << SysStatsConfig.StatCounters. */
enum {
        STAT_CPU_TIMES = 1 << 1,
        STAT_IRQ_COUNTS = 1 << 2,
        STAT_SOFTIRQ_COUNTS = 1 << 3,
        STAT_FORK_COUNT = 1 << 4,
        STAT_ALL = STAT_CPU_TIMES | STAT_IRQ_COUNTS | STAT_SOFTIRQ_COUNTS | STAT_FORK_COUNT,
};

typedef struct StatSettings {
        unsigned wanted;
        uint64_t ns_per_tick; /* the unit of times in the file: 1 s / sysconf(_SC_CLK_TCK) */
} StatSettings;

/* Times are written in ns. Interrupts that have never happened are left out. */
void stat_encode(const char *text, const StatSettings *settings, WireWriter *wire);

/* The tracks for the same text; none without STAT_CPU_TIMES. */
void stat_write_tracks(const char *text,
                       const StatSettings *settings,
                       TrackWriter *tracks,
                       uint64_t now_ns);
