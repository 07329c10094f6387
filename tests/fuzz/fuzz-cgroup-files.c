/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The first byte says which file of a cgroup the rest is. Whatever it is: only counters of that file come out, none is
 * negative, and there are no more devices than there may be.
 */

#include "fuzz.h"
#include "probes/system/cgroup-files.h"

static CgroupReading reading;

static void check_devices(void) {
        FUZZ_CHECK(reading.n_ios <= CGROUP_DEVICES_MAX);
        for (size_t i = 0; i < reading.n_ios; i++)
                for (size_t k = 0; k < CGROUP_N_IO_COUNTERS; k++)
                        FUZZ_CHECK(!(reading.ios[i].found & 1u << k) ||
                                   reading.ios[i].values[k] >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        FuzzInput input = { data, n_bytes };
        CgroupFile file = fuzz_take(&input) % _CGROUP_FILE_N;

        cgroup_reading_init(&reading);
        cgroup_reading_add(&reading, file, (const char *)input.at, input.n_left);
        FUZZ_CHECK(reading.files == 1u << file);
        for (size_t i = 0; i < CGROUP_N_COUNTERS; i++)
                if (reading.found & 1u << i)
                        FUZZ_CHECK(cgroup_counters[i].file == file && reading.values[i] >= 0);
        FUZZ_CHECK(file == CGROUP_IO_STAT || reading.n_ios == 0);
        check_devices();
        return 0;
}
