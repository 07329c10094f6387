/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Probe registry: the data sources of desktrace-probes */

#include "probes/probe-registry.h"
#include "managers/login-probe.h"
#include "managers/systemd-probe.h"
#include "probes/ftrace/frozen-probe.h"
#include "probes/ftrace/ftrace-probe.h"
#include "probes/graphics/drm-probe.h"
#include "probes/input/input-latency-probe.h"
#include "probes/perf/perf-probe.h"
#include "probes/points/program-points-probe.h"
#include "probes/proc/process-stats-probe.h"
#include "probes/proc/sys-stats-probe.h"
#include "probes/system/cgroup-probe.h"
#include "probes/system/journald-probe.h"
#include "probes/system/sysfs-power-probe.h"
#include "probes/system/system-info-probe.h"

/* clang-format off */
#define COMMON_PROBES                                                                  \
        &ftrace_probe_ops, &frozen_probe_ops, &process_stats_probe_ops,                \
        &sys_stats_probe_ops, &system_info_probe_ops, &journald_probe_ops,             \
        &sysfs_power_probe_ops, &drm_probe_ops, &cgroup_probe_ops,                     \
        &input_latency_probe_ops, &program_points_probe_ops, &systemd_system_probe_ops, \
        &login_probe_ops, &perf_probe_ops,

const ProbeOps *const probes[] = { COMMON_PROBES &own_stacks_probe_ops, };
/* The user that the system's probes run as has no programs. */
const ProbeOps *const machine_probes[] = { COMMON_PROBES &owners_stacks_probe_ops, };
/* clang-format on */

const size_t n_probes = ARRAY_SIZE(probes);
const size_t n_machine_probes = ARRAY_SIZE(machine_probes);
