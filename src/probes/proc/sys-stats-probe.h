/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.sys_stats: counters of the whole machine, each kind with a period of its own
 *
 * Samples are taken on multiples of their period (CLOCK_BOOTTIME), so kinds with equal periods, and other recordings,
 * coincide. Everything due at one time goes into one SysStats packet; what has no field there is a counter track. New
 * devices are recorded as soon as they are found: they are looked for every ten seconds, and soon after a device has
 * gone.
 */

#include "host/probe.h"

#define SYS_STATS_PERIOD_MS_MIN   10   /* shorter periods are made this long */
#define SYS_STATS_PERIOD_MS_USUAL 1000 /* of the usual kinds, when there is no config */
#define SYS_STATS_SCAN_NS         (10000 * PROBE_NS_PER_MS)
#define SYS_STATS_LOST_SCAN_NS    (1000 * PROBE_NS_PER_MS) /* after a device has gone */

extern const ProbeOps sys_stats_probe_ops;

/* Makes an instance that reads the machine below `root`. Like ProbeOps.setup(). Takes over the descriptor in any
 * case. */
int sys_stats_new(void **ret, int root, const ProbeSetup *setup, char **ret_error);
