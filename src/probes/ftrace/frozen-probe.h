/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Frozen probe: the data source "linux.frozen_ftrace", which has what the kernel recorded before the last reboot
 *
 * A kernel that was booted with memory reserved for a tracefs instance finds in it what the previous kernel recorded
 * until its end. Reading takes the data out of the ring, so it can be read only once. Apart from that, the instance
 * stays unchanged and belongs to the administrator who configured the kernel. Only the same build of a kernel can
 * interpret the data; the kernel itself discards any other.
 */

#include "host/probe.h"

extern const ProbeOps frozen_probe_ops;

/* Whether the tracefs at `tracing_fd` has an instance that outlives a boot. Returns 0 or PROBE_E_REFUSED. */
int frozen_check_at(int tracing_fd, char **ret_error);
