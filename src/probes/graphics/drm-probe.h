/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * linux.drm: what GPUs do, for which programs, and when their frames are shown
 *
 * The events are those of linux.ftrace, and come from an inner probe of that kind. How programs use a card is polled
 * (drm-clients.h). Each process gets a GpuMemTotalEvent, and tracks: "GPU", the card, the process, its engines and
 * memory. The first packet describes the cards (GpuInfo).
 */

#include "drm_config.pb-c.h"
#include "host/probe.h"

#define DRM_PERIOD_MS     100 /* of samples */
#define DRM_PERIOD_MS_MIN 50
#define DRM_PERIOD_MS_MAX 60000

typedef Perfetto__Protos__DrmConfig DrmConfig;

/* Like drm_probe_ops.setup(), for the machine whose "/" is `root_fd`, which the probe takes over. With `any_file`,
 * every descriptor of a process may be a GPU's: for trees that are only copies. */
int drm_new(void **ret,
            int root_fd,
            const DrmConfig *config,
            const ProbeSetup *setup,
            bool any_file,
            char **ret_error);

extern const ProbeOps drm_probe_ops;
