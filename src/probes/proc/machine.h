/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Small files of /proc and /sys about the machine, as fields of perfetto.protos.SysStats
 */

#include "wire/wire-writer.h"

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

/* /proc/diskstats: whole disks and partitions that were ever used. */
void diskstats_encode(const char *text, WireWriter *wire);

/* cpufreq/scaling_cur_freq, in kHz: one call for each CPU, in their order. */
void cpufreq_encode(const char *text, WireWriter *wire);

/* thermal_zoneN/temp, in thousandths of a degree. */
void thermal_encode(const char *text, const char *name, const char *type, WireWriter *wire);
