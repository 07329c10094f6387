/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * DRM events: the tracepoints that tell when a frame was rendered, flipped and shown
 *
 * Which of them exist depends on the kernel and on the driver, so they are looked up.
 */

#include <stdbool.h>
#include <stddef.h>

#define DRM_EVENTS_MAX 32

typedef struct DrmEvents {
        char *patterns[DRM_EVENTS_MAX]; /* for FtraceConfig.ftrace_events; static texts */
        size_t n;
        bool has_drm; /* some belong to DRM itself; other devices have fences, too */
} DrmEvents;

/* The events that exist in the tracefs below the root directory `root`. */
void drm_events_find(DrmEvents *ret, int root);
