/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * CPU info: what the processors are, as fields of perfetto.protos.CpuInfo and InterruptInfo
 *
 * `root` is the machine's "/", or a tree of fixtures: proc/cpuinfo, sys/devices/system/cpu, sys/kernel/irq.
 */

#include <stddef.h>

#include "wire/wire-writer.h"

#define CPU_INFO_CPUS_MAX        8192 /* the kernel's largest NR_CPUS */
#define CPU_INFO_FREQUENCIES_MAX 64   /* of one CPU; more are left out */
#define CPU_INFO_CPUINFO_BYTES   (32u << 20)
#define CPU_INFO_INTERRUPTS_MAX  16384
#define CPU_INFO_NAME_BYTES      256

/* Appends a CpuInfo.Cpu for each CPU, also for those that are off: readers number them by their place. Returns how
 * many, or a negative errno. */
int cpu_info_encode(int root, WireWriter *wire);

/* Appends an InterruptMapping for each interrupt line that somebody handles. Returns how many, or a negative errno. */
int interrupt_info_encode(int root, WireWriter *wire);
