/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.ftrace: kernel events through a private tracefs instance
 *
 * Each recording has its own instance (instance.h), which is read once a drain period, on flush and on stop. Packets:
 * FtraceEventBundle, and FtraceStats of the start and of the end with each flush.
 */

#include "ftrace_config.pb-c.h"
#include "host/probe.h"

/* As ftrace_probe_ops.setup(), of a config that another data source has made: its own calls then pass on to
 * those of ftrace_probe_ops. */
int ftrace_probe_new(void **ret,
                     const Perfetto__Protos__FtraceConfig *config,
                     const ProbeSetup *setup,
                     char **ret_error);

extern const ProbeOps ftrace_probe_ops;
