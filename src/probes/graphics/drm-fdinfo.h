/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * DRM fdinfo: the kernel's data about one open GPU device (Documentation/gpu/drm-usage-stats.rst)
 *
 * It consists of lines "key: value". All drivers have drm-driver, and newer kernels have drm-client-id. The engines and
 * memory regions, and how time on an engine is counted, differ between drivers. The parser copies values only: it
 * allocates nothing and keeps no pointers into the text.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRM_NAME_BYTES  32
#define DRM_ENGINES_MAX 16 /* amdgpu has about 10; further ones are left out and counted */
#define DRM_REGIONS_MAX 8  /* of memory: xe has 5 on a card with two tiles */

enum {
        _DRM_FDINFO_E_SUCCESS,
        DRM_FDINFO_E_OTHER, /* no DRM device, or one that cannot be told apart from others */
};

/* One kind of engine. Its counters only grow while the client lives. */
typedef struct DrmEngine {
        char name[DRM_NAME_BYTES];
        uint64_t capacity; /* how many engines of this kind exist; 0: unknown, so 1 */
        uint64_t busy_ns;
        uint64_t cycles;
        uint64_t total_cycles; /* of the engine, including cycles that nobody used */
        uint64_t max_hz;
        bool has_busy, has_cycles, has_total, has_max;
} DrmEngine;

typedef struct DrmRegion {
        char name[DRM_NAME_BYTES];
        uint64_t total, resident; /* bytes */
        bool has_total, has_resident;
} DrmRegion;

typedef struct DrmFdinfo {
        char driver[DRM_NAME_BYTES];
        char device[DRM_NAME_BYTES]; /* PCI address; empty for a device on no PCI bus */
        uint64_t client_id;
        bool has_client_id;
        DrmEngine engines[DRM_ENGINES_MAX];
        size_t n_engines;
        DrmRegion regions[DRM_REGIONS_MAX];
        size_t n_regions;
        size_t n_left_out; /* keys of engines and regions beyond the limits */
} DrmFdinfo;

/* If a key comes twice, the first one counts. Undocumented keys and values are ignored. Returns 0 or
 * DRM_FDINFO_E_OTHER. */
int drm_fdinfo_parse(DrmFdinfo *ret, const char *text, size_t n);

/* How long the engine worked for the client between two readings that are `passed_ns` apart. Some drivers count
 * time, some cycles and their total, and some only cycles. Returns 0 if a counter went backwards. */
uint64_t drm_engine_busy_ns(const DrmEngine *before, const DrmEngine *now, uint64_t passed_ns);

/* How many bytes take up room now. Where the driver does not tell, it is the number of all bytes. */
static inline uint64_t drm_region_bytes(const DrmRegion *region) {
        return region->has_resident ? region->resident : region->total;
}
