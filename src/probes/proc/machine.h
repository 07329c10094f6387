/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Small files of /proc and /sys about the machine, as fields of perfetto.protos.SysStats
 *
 * Each function takes the text of one file, or what was read from it, and appends the parts that it understands.
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire-writer.h"

#define BUDDY_ORDERS_MAX 20 /* the kernel has 11; readers compute 2 to the power of each */

/* PsiSample.PsiResource. */
typedef enum PsiResource {
        PSI_CPU_SOME = 1,
        PSI_CPU_FULL = 2,
        PSI_IO_SOME = 3,
        PSI_IO_FULL = 4,
        PSI_MEMORY_SOME = 5,
        PSI_MEMORY_FULL = 6,
} PsiResource;

/* /proc/pressure/X; `some` and `full` are the file's resources. Totals are written in ns. */
void psi_encode(const char *text, PsiResource some, PsiResource full, WireWriter *wire);

/* The total of a line, "some " or "full ", in ns; false if the line is missing. */
bool psi_total(const char *text, const char *line, uint64_t *ret_ns);

/* /proc/diskstats: whole disks, and partitions, that were ever used. */
void diskstats_encode(const char *text, WireWriter *wire);

/* /proc/buddyinfo: free blocks of each order, of each zone. */
void buddyinfo_encode(const char *text, WireWriter *wire);

/* /proc/slabinfo: the pages of each cache. */
void slabinfo_encode(const char *text, WireWriter *wire);

/* Frequencies: that of the next CPU in kHz, and that of a device in its own unit. */
void cpufreq_encode(uint64_t khz, WireWriter *wire);
void devfreq_encode(const char *device, uint64_t frequency, WireWriter *wire);

/* A thermal zone. The field only has room for whole degrees that are not negative, so lower temperatures become 0. */
void thermal_encode(int64_t millidegrees, const char *name, const char *type, WireWriter *wire);

/* The time that a CPU spent in an idle state. */
void cpuidle_encode(uint32_t cpu, const char *state, uint64_t time_us, WireWriter *wire);
