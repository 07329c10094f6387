/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "fixture.h"
#include "probes/graphics/drm-fdinfo.h"

#define MIB (UINT64_C(1) << 20)
#define KIB (UINT64_C(1) << 10)
#define SEC UINT64_C(1000000000)

static DrmFdinfo parse_fixture(const char *driver) {
        char file[64], *text;
        DrmFdinfo info;
        size_t n;

        snprintf(file, sizeof(file), "drm/%s", driver);
        text = fixture_read(file, &n);
        ck_assert_int_eq(drm_fdinfo_parse(&info, text, n), 0);
        free(text);
        ck_assert_str_eq(info.driver, driver);
        return info;
}

static DrmFdinfo parse(const char *text) {
        DrmFdinfo info;

        ck_assert_int_eq(drm_fdinfo_parse(&info, text, strlen(text)), 0);
        return info;
}

static const DrmEngine *engine(const DrmFdinfo *info, const char *name) {
        for (size_t i = 0; i < info->n_engines; i++)
                if (streq(info->engines[i].name, name))
                        return &info->engines[i];
        ck_abort_msg("no engine %s", name);
        return NULL;
}

static uint64_t region_bytes(const DrmFdinfo *info, const char *name) {
        for (size_t i = 0; i < info->n_regions; i++)
                if (streq(info->regions[i].name, name))
                        return drm_region_bytes(&info->regions[i]);
        ck_abort_msg("no region %s", name);
        return 0;
}

START_TEST(test_clients_and_devices_of_all_drivers_are_told_apart) {
        static const struct {
                const char *driver, *device;
                uint64_t id;
                size_t n_engines, n_regions;
        } wanted[] = {
                { "i915", "0000:00:02.0", 67, 4, 2 },
                { "amdgpu", "0000:03:00.0", 1337, 2, 3 },
                { "xe", "0000:03:00.0", 7, 5, 4 },
                { "msm", "", 9, 1, 1 },
                { "v3d", "", 4, 5, 0 },
                { "panthor", "", 10, 1, 1 },
        };

        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
                DrmFdinfo info = parse_fixture(wanted[i].driver);

                ck_assert_str_eq(info.device, wanted[i].device);
                ck_assert_uint_eq(info.client_id, wanted[i].id);
                ck_assert_uint_eq(info.n_engines, wanted[i].n_engines);
                ck_assert_uint_eq(info.n_regions, wanted[i].n_regions);
                ck_assert_uint_eq(info.n_left_out, 0);
        }
}
END_TEST

START_TEST(test_time_capacity_and_resident_memory_are_read_in_their_units) {
        DrmFdinfo i915 = parse_fixture("i915"), amdgpu = parse_fixture("amdgpu"),
                  msm = parse_fixture("msm");

        ck_assert_uint_eq(engine(&i915, "render")->busy_ns, 25662044495);
        ck_assert_uint_eq(engine(&i915, "video")->capacity, 2);
        ck_assert_uint_eq(engine(&i915, "render")->capacity, 0);
        ck_assert_uint_eq(region_bytes(&i915, "system0"), 24 * MIB);
        ck_assert_uint_eq(region_bytes(&amdgpu, "vram"), 120 * MIB);
        ck_assert_uint_eq(region_bytes(&amdgpu, "gtt"), 24 * MIB);
        ck_assert_uint_eq(region_bytes(&msm, "memory"), 90000 * KIB);
        ck_assert_uint_eq(engine(&msm, "gpu")->max_hz, 800000000);
}
END_TEST

START_TEST(test_work_counted_in_cycles_becomes_time) {
        DrmFdinfo xe = parse_fixture("xe"), msm = parse_fixture("msm");
        const DrmEngine *before = engine(&xe, "rcs");
        DrmEngine now = *before;

        now.cycles += 25;
        now.total_cycles += 100;
        ck_assert_uint_eq(drm_engine_busy_ns(before, &now, SEC), SEC / 4);

        now = *engine(&msm, "gpu");
        now.busy_ns += 77; /* time is better than cycles */
        now.cycles += 800000000;
        ck_assert_uint_eq(drm_engine_busy_ns(engine(&msm, "gpu"), &now, SEC), 77);
        now.has_busy = false;
        ck_assert_uint_eq(drm_engine_busy_ns(engine(&msm, "gpu"), &now, 2 * SEC), SEC);
}
END_TEST

START_TEST(test_counters_that_go_backwards_or_stand_are_no_work) {
        const DrmEngine before = { .busy_ns = 10, .has_busy = true };
        const DrmEngine cycles = {
                .cycles = 5, .has_cycles = true, .total_cycles = 9, .has_total = true
        };
        DrmEngine now = before;

        ck_assert_uint_eq(drm_engine_busy_ns(&before, &now, SEC), 0);
        now.busy_ns = 9;
        ck_assert_uint_eq(drm_engine_busy_ns(&before, &now, SEC), 0);
        now = cycles;
        ck_assert_uint_eq(drm_engine_busy_ns(&before, &now, SEC), 0);
        now.cycles = 6; /* of none */
        ck_assert_uint_eq(drm_engine_busy_ns(&cycles, &now, SEC), 0);
        now.cycles = UINT64_MAX;
        now.total_cycles = 10;
        ck_assert_uint_eq(drm_engine_busy_ns(&cycles, &now, UINT64_MAX), UINT64_MAX);
        /* A third of the cycles, in more than 64 bits. */
        now.cycles = 5 + (UINT64_C(1) << 60);
        now.total_cycles = 9 + (UINT64_C(3) << 60);
        ck_assert_uint_eq(drm_engine_busy_ns(&cycles, &now, 3 * SEC), SEC);
        now.has_total = false; /* and no frequency */
        ck_assert_uint_eq(drm_engine_busy_ns(&cycles, &now, SEC), 0);
}
END_TEST

START_TEST(test_other_files_and_drivers_without_client_ids_are_no_clients) {
        static const char *const texts[] = {
                "",
                "pos:\t0\nflags:\t02\n",
                "eventfd-count:                0\n",
                "drm-client-id:\t5\n",
                "drm-driver:\ti915\n",
                "drm-driver:\ti915\ndrm-client-id:\t-5\n",
                "drm-driver:\t\ndrm-client-id:\t5\n",
                "drm-driver\ndrm-client-id:\t5\n",
                "drm-driver:\tbad name\ndrm-client-id:\t5\n",
                "drm-driver:\ta-name-that-is-longer-than-any-drivers\ndrm-client-id:\t5\n",
        };
        DrmFdinfo info;

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                ck_assert_msg(drm_fdinfo_parse(&info, texts[i], strlen(texts[i])) ==
                                      DRM_FDINFO_E_OTHER,
                              "%s",
                              texts[i]);
}
END_TEST

START_TEST(test_the_first_of_equal_keys_counts) {
        DrmFdinfo info = parse("drm-driver:\txe\ndrm-driver:\ti915\n"
                               "drm-client-id:\t1\ndrm-client-id:\t2\n"
                               "drm-engine-rcs:\t3 ns\ndrm-engine-rcs:\t4 ns\n"
                               "drm-resident-gtt:\t5\ndrm-memory-gtt:\t6\n");

        ck_assert_str_eq(info.driver, "xe");
        ck_assert_uint_eq(info.client_id, 1);
        ck_assert_uint_eq(info.n_engines, 1);
        ck_assert_uint_eq(info.engines[0].busy_ns, 3);
        ck_assert_uint_eq(region_bytes(&info, "gtt"), 5);
}
END_TEST

START_TEST(test_values_that_are_none_are_ignored) {
        DrmFdinfo info = parse("drm-driver:\txe\ndrm-client-id:\t1\n"
                               "drm-engine-a:\t-3 ns\n"
                               "drm-engine-b:\t3 parsecs\n"
                               "drm-engine-c:\t18446744073709551616 ns\n"
                               "drm-engine-d:\n"
                               "drm-engine-:\t5 ns\n"
                               "drm-engine-a b:\t5 ns\n"
                               "drm-engine-a-name-that-is-longer-than-any-engines:\t5 ns\n"
                               "drm-resident-e:\t18014398509481984 KiB\n"
                               "drm-engine-\xff:\t5 ns\n"
                               ":\n:::\ndrm-\n"
                               "drm-engine-last:\t18446744073709551615 ns");

        ck_assert_uint_eq(info.n_engines, 1);
        ck_assert_uint_eq(engine(&info, "last")->busy_ns, UINT64_MAX);
        ck_assert_uint_eq(info.n_regions, 0);
}
END_TEST

START_TEST(test_too_many_engines_and_regions_are_counted) {
        char text[4096] = "drm-driver:\txe\ndrm-client-id:\t1\n";
        DrmFdinfo info;

        for (size_t i = 0; i < DRM_ENGINES_MAX + 3; i++)
                snprintf(text + strlen(text), 64, "drm-engine-e%zu:\t1 ns\n", i);
        for (size_t i = 0; i < DRM_REGIONS_MAX + 4; i++)
                snprintf(text + strlen(text), 64, "drm-total-r%zu:\t1\n", i);
        info = parse(text);
        ck_assert_uint_eq(info.n_engines, DRM_ENGINES_MAX);
        ck_assert_uint_eq(info.n_regions, DRM_REGIONS_MAX);
        ck_assert_uint_eq(info.n_left_out, 7);
}
END_TEST

TEST_MAIN("drm-fdinfo",
          test_clients_and_devices_of_all_drivers_are_told_apart,
          test_time_capacity_and_resident_memory_are_read_in_their_units,
          test_work_counted_in_cycles_becomes_time,
          test_counters_that_go_backwards_or_stand_are_no_work,
          test_other_files_and_drivers_without_client_ids_are_no_clients,
          test_the_first_of_equal_keys_counts,
          test_values_that_are_none_are_ignored,
          test_too_many_engines_and_regions_are_counted)
