/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.drm: what GPUs do, for which programs, and when their frames are shown
 *
 * The events are those of linux.ftrace, from an inner probe of that kind. Programs' use of a card is polled
 * (drm-clients.h): a GpuMemTotalEvent for each process, and tracks: "GPU", the card, the process, its engines and
 * memory. A description of the card comes first (GpuInfo).
 */

#include "drm_config.pb-c.h"
#include "host/probe.h"

#define DRM_PERIOD_MS     100 /* of samples */
#define DRM_PERIOD_MS_MIN 50
#define DRM_PERIOD_MS_MAX 60000

typedef Perfetto__Protos__DrmConfig DrmConfig;

/* As drm_probe_ops.setup(), but of the machine whose "/" is `root_fd`, which the probe takes. With `any_file`, every
 * descriptor of a process may be a GPU's: for trees that are only copies. */
int drm_new(void **ret,
            int root_fd,
            const DrmConfig *config,
            const ProbeSetup *setup,
            bool any_file,
            char **ret_error);

extern const ProbeOps drm_probe_ops;
