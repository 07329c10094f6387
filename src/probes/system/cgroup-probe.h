/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.cgroup: what each service, scope and slice uses
 *
 * CPU time, memory, IO, pressure, tasks and memory events of cgroup v2, as counter tracks. They are nested as the
 * cgroups are, below "Units". On hybrid machines, where v1 has the controllers, only time and pressure are available.
 * It is normal that cgroups come or go meanwhile.
 */

#include "host/probe.h"
#include "probes/system/cgroup-tree.h"

#define CGROUP_PERIOD_MS_DEFAULT 1000
#define CGROUP_PERIOD_MS_MIN     100

typedef Perfetto__Protos__CgroupConfig CgroupConfig;

extern const ProbeOps cgroup_probe_ops;

/* Makes an instance that reads the machine below `root`. `config` may be NULL. Like ProbeOps.setup(). Takes over the
 * descriptor in any case. */
int cgroup_new_instance(void **ret,
                        int root,
                        const CgroupConfig *config,
                        const ProbeSetup *setup,
                        char **ret_error);

/* Opens the top of cgroup v2 below `root`, which stays the caller's. Returns 0, PROBE_E_REFUSED or a negative errno. */
int cgroup_open_top(int *ret, int root, char **ret_error);
