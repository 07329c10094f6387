/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* DRM events: the tracepoints that tell when a frame was rendered, flipped and shown */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "probes/graphics/drm-events.h"
#include "shared/fd.h"
#include "shared/macro.h"

/* Each entry is a group with all of its events, or one event. The drivers' groups have hundreds of events, of which
 * these are about frames: commits, flips, and jobs of the engines. */
static const char *const wanted[] = {
        "drm/*",
        "gpu_scheduler/*",
        "dma_fence/*",
        "gpu_mem/gpu_mem_total",
        "i915/intel_crtc_flip_done",
        "i915/intel_pipe_update_start",
        "i915/intel_pipe_update_vblank_evaded",
        "i915/intel_pipe_update_end",
        "i915/i915_request_queue",
        "i915/i915_request_add",
        "i915/i915_request_retire",
        "xe/intel_crtc_flip_done",
        "xe/intel_pipe_update_start",
        "xe/intel_pipe_update_vblank_evaded",
        "xe/intel_pipe_update_end",
        "xe/xe_sched_job_exec",
        "xe/xe_sched_job_run",
        "xe/xe_sched_job_free",
        "amdgpu/amdgpu_cs_ioctl",
        "amdgpu/amdgpu_sched_run_job",
        "amdgpu_dm/amdgpu_dm_atomic_commit_tail_begin",
        "amdgpu_dm/amdgpu_dm_atomic_commit_tail_finish",
        "drm_msm_atomic/*",
        "drm_msm_gpu/msm_gpu_submit_flush",
        "drm_msm_gpu/msm_gpu_submit_retired",
        "v3d/*",
        "virtio_gpu/*",
        "lima/*",
};
_Static_assert(ARRAY_SIZE(wanted) <= DRM_EVENTS_MAX, "all events fit");

static const char *const tracefs_events[] = { "sys/kernel/tracing/events",
                                              "sys/kernel/debug/tracing/events" };

static bool is_there(int events, const char *pattern) {
        char path[96];
        size_t n = strlen(pattern);

        if (pattern[n - 1] == '*')
                n -= 2;
        snprintf(path, sizeof(path), "%.*s", (int)n, pattern);
        return faccessat(events, path, F_OK, AT_EACCESS) == 0;
}

static bool is_of_fences(const char *pattern) {
        return strncmp(pattern, "dma_fence/", strlen("dma_fence/")) == 0;
}

void drm_events_find(DrmEvents *ret, int root) {
        _cleanup_(fd_closep) int events = -1;

        *ret = (DrmEvents){};
        for (size_t i = 0; events < 0 && i < ARRAY_SIZE(tracefs_events); i++)
                events = openat(root, tracefs_events[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; events >= 0 && i < ARRAY_SIZE(wanted); i++)
                if (is_there(events, wanted[i])) {
                        ret->patterns[ret->n++] = (char *)wanted[i];
                        ret->has_drm |= !is_of_fences(wanted[i]);
                }
}
