/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.sysfs_power: how much energy the machine's batteries hold, and its processors use
 *
 * Each second there is a packet for each battery, a counter track for each adapter (1: plugged in), and one packet with
 * the energy counters. Batteries and adapters that appear later are recorded from then on.
 */

#include "host/probe.h"

#define SYSFS_POWER_PERIOD_NS    (1000 * PROBE_NS_PER_MS)
#define SYSFS_POWER_RAILS_MAX    64
#define SYSFS_POWER_SUPPLIES_MAX 64 /* of one sample */

extern const ProbeOps sysfs_power_probe_ops;

/* Makes an instance that reads the machine below `root`. Like ProbeOps.setup(). Takes over the descriptor in any
 * case. */
int sysfs_power_new(void **ret, int root, PacketSink *sink, char **ret_error);
