/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.ftrace: kernel events through an own tracefs instance
 *
 * Each recording has its own instance (instance.h), which is read out once a drain period, on flush and on
 * stop. Packets: FtraceEventBundle, and FtraceStats of the start and of the end with each flush.
 */

#include "probes/probe.h"

extern const ProbeOps ftrace_probe_ops;
