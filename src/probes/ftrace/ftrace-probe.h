/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.ftrace: kernel events through a private tracefs instance
 *
 * Each recording has an instance of its own (instance.h), which is read once in each drain period, on flush and on
 * stop. The packets are FtraceEventBundle, and, with each flush, FtraceStats of the start and of the end.
 */

#include "ftrace_config.pb-c.h"
#include "host/probe.h"

/* Like ftrace_probe_ops.setup(), for a config that another data source has made. The calls of that source then pass
 * on to those of ftrace_probe_ops. */
int ftrace_probe_new(void **ret,
                     const Perfetto__Protos__FtraceConfig *config,
                     const ProbeSetup *setup,
                     char **ret_error);

extern const ProbeOps ftrace_probe_ops;
