/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.process_stats: names and counters of processes and threads
 *
 * Packets: ProcessTree of all processes at the start, and of threads that linux.ftrace of the same recording meets
 * later; ProcessStats with the counters that changed, once a poll period.
 */

#include "host/probe.h"

#define PROCESS_POLL_MS_MIN     100 /* shorter periods are made this long */
#define PROCESS_STATS_BYTES_MAX (24u << 10)

extern const ProbeOps process_stats_probe_ops;
