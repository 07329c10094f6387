/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.perf: what the machine's processors run, by call stacks
 * cpu.stacks: the same of the programs of one user: of who runs this, as far as the kernel allows it to anybody; or,
 * where the system's probes are asked, of who asks (perf-processes.h says which programs that are)
 */

#include "host/probe.h"

extern const ProbeOps perf_probe_ops;
extern const ProbeOps own_stacks_probe_ops;
extern const ProbeOps owners_stacks_probe_ops;
