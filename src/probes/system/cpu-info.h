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
#define CPU_INFO_FREQUENCIES_MAX 64   /* of one CPU; further ones are left out */
#define CPU_INFO_CPUINFO_BYTES   (32u << 20)
#define CPU_INFO_INTERRUPTS_MAX  16384
#define CPU_INFO_NAME_BYTES      256

/* Appends a CpuInfo.Cpu for each CPU, even if it is off, because readers number CPUs by their place. Returns how
 * many there are, or a negative errno. */
int cpu_info_encode(int root, WireWriter *wire);

/* Appends an InterruptMapping for each interrupt line that has a handler. Returns how many there are, or a negative
 * errno. */
int interrupt_info_encode(int root, WireWriter *wire);
