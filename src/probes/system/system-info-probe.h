/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.system_info: what does not change while a trace is recorded
 *
 * One packet describes the processors when the recording starts, and with irq_names another one the interrupt lines.
 * What the packet has no fields for is an instant for each CPU (cpu-topology.h).
 */

#include "host/probe.h"

extern const ProbeOps system_info_probe_ops;

/* Whether the machine below `root` says what its processors are. Like ProbeOps.check(). */
int system_info_check_at(int root, char **ret_error);
