/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Frozen probe: the data source "linux.frozen_ftrace", what the kernel recorded before the last reboot
 *
 * A kernel that was started with memory set aside for a tracefs instance finds in it what the one before has recorded
 * until its end. It is read once, and taken out of the ring by that; the instance stays as it is otherwise, and belongs
 * to whoever configured the kernel. Only the same build of a kernel can make sense of it, and throws away the rest by
 * itself.
 */

#include "host/probe.h"

extern const ProbeOps frozen_probe_ops;

/* Whether the tracefs at `tracing_fd` has an instance that outlives a boot. 0, PROBE_E_REFUSED. */
int frozen_check_at(int tracing_fd, char **ret_error);
