/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.sys_stats: counters of the whole machine, each kind with a period of its own
 *
 * Samples are taken on multiples of their period (CLOCK_BOOTTIME), so kinds with equal periods, and other recordings,
 * fall together. What is due at one time makes one SysStats packet; what has no field there is a counter track.
 * Devices that come are recorded from then on: they are looked for every ten seconds, and soon after one has gone.
 */

#include "host/probe.h"

#define SYS_STATS_PERIOD_MS_MIN   10   /* shorter periods are made this long */
#define SYS_STATS_PERIOD_MS_USUAL 1000 /* of the usual kinds, when there is no config */
#define SYS_STATS_SCAN_NS         (10000 * PROBE_NS_PER_MS)
#define SYS_STATS_LOST_SCAN_NS    (1000 * PROBE_NS_PER_MS) /* after a device has gone */

extern const ProbeOps sys_stats_probe_ops;

/* An instance that reads the machine below `root`. As ProbeOps.setup(); takes the descriptor in any case. */
int sys_stats_new(void **ret, int root, const ProbeSetup *setup, char **ret_error);
