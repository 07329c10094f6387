/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * An fdinfo file, and the same up to half of it: whatever they say, names are texts within their arrays, and the work
 * between the two readings is a number.
 */

#include "fuzz.h"
#include "probes/graphics/drm-fdinfo.h"

static void check_name(const char *name) {
        size_t n = strnlen(name, DRM_NAME_BYTES);

        FUZZ_CHECK(n < DRM_NAME_BYTES);
        for (size_t i = 0; i < n; i++)
                FUZZ_CHECK(name[i] > ' ' && name[i] < 127);
}

static void check_info(const DrmFdinfo *info) {
        check_name(info->driver);
        check_name(info->device);
        FUZZ_CHECK(info->n_engines <= DRM_ENGINES_MAX && info->n_regions <= DRM_REGIONS_MAX);
        for (size_t i = 0; i < info->n_engines; i++) {
                check_name(info->engines[i].name);
                FUZZ_CHECK(*info->engines[i].name);
                for (size_t j = 0; j < i; j++)
                        FUZZ_CHECK(strcmp(info->engines[i].name, info->engines[j].name) != 0);
        }
        for (size_t i = 0; i < info->n_regions; i++)
                check_name(info->regions[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        DrmFdinfo before, now;
        int r;

        r = drm_fdinfo_parse(&now, (const char *)data, n_bytes);
        FUZZ_CHECK(r == 0 || r == DRM_FDINFO_E_OTHER);
        FUZZ_CHECK((r == 0) == (*now.driver && now.has_client_id));
        check_info(&now);
        (void)drm_fdinfo_parse(&before, (const char *)data, n_bytes / 2);
        check_info(&before);
        for (size_t i = 0; i < before.n_engines && i < now.n_engines; i++)
                (void)drm_engine_busy_ns(&before.engines[i], &now.engines[i], n_bytes);
        return 0;
}
