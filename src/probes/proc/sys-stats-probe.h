/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.sys_stats: counters of the whole machine, each kind with a period of its own
 *
 * Samples are taken on multiples of their period (CLOCK_BOOTTIME), so kinds with equal periods, and other recordings,
 * fall together. What is due at one time makes one SysStats packet.
 */

#include "probes/probe.h"

#define SYS_STATS_PERIOD_MS_MIN 10 /* shorter periods are made this long */

extern const ProbeOps sys_stats_probe_ops;
