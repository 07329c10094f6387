/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The input is a record of a perf ring. What is found in it lies in it.
 */

#include "fuzz.h"
#include "probes/perf/perf-records.h"

static bool is_within(const uint8_t *part, uint64_t n_part, const uint8_t *data, size_t n_bytes) {
        return !part ||
               (part >= data && n_part <= n_bytes && part - data <= (ptrdiff_t)(n_bytes - n_part));
}

static void parse_sample(PerfLayout layout, const uint8_t *data, size_t n_bytes) {
        PerfSample sample;

        if (perf_sample_parse(&sample, &layout, data, n_bytes))
                return;
        FUZZ_CHECK(is_within(sample.chain, sample.n_chain * 8, data, n_bytes));
        FUZZ_CHECK(is_within(sample.registers, PERF_REGISTERS_N * 8, data, n_bytes));
        FUZZ_CHECK(is_within(sample.stack, sample.n_stack, data, n_bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        const char *name;
        PerfTask task;
        PerfMap map;
        uint64_t n;
        pid_t pid;

        for (unsigned i = 0; i < 4; i++)
                parse_sample((PerfLayout){ i & 1, i & 2 }, data, n_bytes);
        if (perf_map_parse(&map, data, n_bytes) == 0)
                FUZZ_CHECK(
                        is_within((const uint8_t *)map.path, strlen(map.path) + 1, data, n_bytes));
        (void)perf_task_parse(&task, data, n_bytes);
        if (perf_comm_parse(&pid, &name, data, n_bytes) == 0)
                FUZZ_CHECK(is_within((const uint8_t *)name, strlen(name) + 1, data, n_bytes));
        (void)perf_lost_parse(&n, data, n_bytes);
        (void)perf_record_time_ns(data, n_bytes);
        return 0;
}
