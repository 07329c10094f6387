/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "fixture.h"
#include "packet-list.h"
#include "probes/proc/counters.h"
#include "probes/proc/machine.h"
#include "probes/proc/stat.h"
#include "probes/proc/sys-stats-probe.h"
#include "sys_stats_counters.pb-c.h"

static uint8_t memory[256 << 10];
static WireWriter wire;

static WireWriter *encode_begin(void) {
        wire_writer_init(&wire, memory, sizeof(memory));
        return &wire;
}

static WireReader encode_end(void) {
        WireReader reader;

        ck_assert(!wire_writer_failed(&wire));
        wire_reader_init(&reader, memory, wire_writer_size(&wire));
        return reader;
}

/* The value of a counter in repeated field 1 or 2. */
static uint64_t counter_value(WireReader stats, uint32_t field, uint32_t number) {
        WireReader value;

        for (size_t i = 0; message_submessage(stats, field, i, &value); i++)
                if (message_uint(value, 1) == number)
                        return message_uint(value, 2);
        return UINT64_MAX;
}

START_TEST(test_meminfo_and_vmstat_are_written_by_number) {
        char *meminfo = fixture_read("proc/meminfo", NULL),
             *vmstat = fixture_read("proc/vmstat", NULL);
        Counters counters;
        WireReader stats;
        const char *line;
        uint64_t expected;

        ck_assert_int_eq(counters_init(&counters, COUNTER_MEMINFO, NULL, 0), 0);
        counters_encode(&counters, meminfo, encode_begin());
        stats = encode_end();
        ck_assert_int_eq(sscanf(meminfo, "MemTotal: %lu", &expected), 1);
        ck_assert_uint_eq(
                counter_value(stats, 1, PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_MEM_TOTAL),
                expected);
        line = strstr(meminfo, "\nInactive(anon)");
        ck_assert(line && sscanf(line, " Inactive(anon): %lu", &expected) == 1);
        ck_assert_uint_eq(
                counter_value(stats, 1, PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_INACTIVE_ANON),
                expected);
        ck_assert_uint_ge(message_count(stats, 1), 30);
        counters_deinit(&counters);

        ck_assert_int_eq(counters_init(&counters, COUNTER_VMSTAT, NULL, 0), 0);
        counters_encode(&counters, vmstat, encode_begin());
        stats = encode_end();
        line = strstr(vmstat, "\npgfault ");
        ck_assert(line && sscanf(line, " pgfault %lu", &expected) == 1);
        ck_assert_uint_eq(
                counter_value(stats, 2, PERFETTO__PROTOS__VMSTAT_COUNTERS__VMSTAT_PGFAULT),
                expected);
        ck_assert_uint_ge(message_count(stats, 2), 140);
        counters_deinit(&counters);
        free(meminfo);
        free(vmstat);
}
END_TEST

START_TEST(test_only_wanted_counters_are_written_and_lines_may_move) {
        static const uint32_t wanted[] = { PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_CACHED,
                                           9999 };
        Counters counters;
        WireReader stats;

        ck_assert_int_eq(counters_init(&counters, COUNTER_MEMINFO, wanted, 2), 0);
        counters_encode(
                &counters, "MemFree: 1 kB\nCached:   22 kB\nSwapCached: 3 kB\n", encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 1), 1);
        ck_assert_uint_eq(counter_value(stats, 1, wanted[0]), 22);
        counters_encode(&counters, "Cached: 23 kB\nSwapCached: 3 kB", encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 1), 1);
        ck_assert_uint_eq(counter_value(stats, 1, wanted[0]), 23);
        counters_deinit(&counters);
}
END_TEST

START_TEST(test_times_of_each_cpu_are_nanoseconds) {
        static const char text[] = "cpu  9 9 9 9 9 9 9 9 9 9\n"
                                   "cpu0 1 2 3 4 5 6 7 8 0 0\n"
                                   "cpu11 10 20 30 40 50 60 70 80 0 0\n"
                                   "intr 100 0 7 0 93\n"
                                   "ctxt 5\nbtime 5\nprocesses 77\nprocs_running 1\n"
                                   "softirq 30 10 0 20\n";
        WireReader stats, cpu, irq;

        stat_encode(text, STAT_ALL, 100, encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 3), 2);
        ck_assert(message_submessage(stats, 3, 1, &cpu));
        ck_assert_uint_eq(message_uint(cpu, 1), 11);
        ck_assert_uint_eq(message_uint(cpu, 2), 100000000);
        ck_assert_uint_eq(message_uint(cpu, 9), 800000000);
        ck_assert_uint_eq(message_uint(stats, 4), 77);
        ck_assert_uint_eq(message_uint(stats, 5), 100);
        ck_assert_uint_eq(message_count(stats, 6), 2);
        ck_assert(message_submessage(stats, 6, 1, &irq));
        ck_assert_uint_eq(message_uint(irq, 1), 3);
        ck_assert_uint_eq(message_uint(irq, 2), 93);
        ck_assert_uint_eq(message_uint(stats, 7), 30);
        ck_assert_uint_eq(message_count(stats, 8), 2);

        stat_encode(text, STAT_FORK_COUNT, 100, encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_uint(stats, 4), 77);
        ck_assert_uint_eq(
                message_count(stats, 3) + message_count(stats, 5) + message_count(stats, 7), 0);
}
END_TEST

START_TEST(test_the_machines_own_stat_is_understood) {
        char *text = fixture_read("proc/stat", NULL);
        WireReader stats;

        stat_encode(text, STAT_ALL, 100, encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 3), 2);
        ck_assert_uint_ne(message_uint(stats, 5), UINT64_MAX);
        ck_assert_uint_ge(message_count(stats, 8), 3);
        free(text);
}
END_TEST

START_TEST(test_pressure_is_nanoseconds_of_some_and_full) {
        WireReader stats, psi;

        psi_encode("some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"
                   "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
                   PSI_IO_SOME,
                   PSI_IO_FULL,
                   encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 14), 2);
        ck_assert(message_submessage(stats, 14, 1, &psi));
        ck_assert_uint_eq(message_uint(psi, 1), PSI_IO_FULL);
        ck_assert_uint_eq(message_uint(psi, 2), 5000);
}
END_TEST

START_TEST(test_disks_that_were_used_are_written) {
        WireReader stats, disk;

        diskstats_encode("   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                         " 254       0 vda 11 1 22 33 44 2 55 66 0 1 2 3 4 77 88 99 110\n",
                         encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 13), 1);
        ck_assert(message_submessage(stats, 13, 0, &disk));
        ck_assert(message_has_text(disk, 1, "vda"));
        ck_assert_uint_eq(message_uint(disk, 2), 22);
        ck_assert_uint_eq(message_uint(disk, 3), 33);
        ck_assert_uint_eq(message_uint(disk, 4), 55);
        ck_assert_uint_eq(message_uint(disk, 5), 66);
        ck_assert_uint_eq(message_uint(disk, 6), 77);
        ck_assert_uint_eq(message_uint(disk, 7), 88);
        ck_assert_uint_eq(message_uint(disk, 8), 99);
        ck_assert_uint_eq(message_uint(disk, 9), 110);
}
END_TEST

START_TEST(test_temperatures_are_whole_degrees) {
        WireReader stats, zone;

        thermal_encode("45600\n", "thermal_zone0", "x86_pkg_temp", encode_begin());
        stats = encode_end();
        ck_assert(message_submessage(stats, 15, 0, &zone));
        ck_assert(message_has_text(zone, 1, "thermal_zone0"));
        ck_assert_uint_eq(message_uint(zone, 2), 46);
        thermal_encode("-5000\n", "thermal_zone0", "outside", encode_begin());
        stats = encode_end();
        ck_assert(message_submessage(stats, 15, 0, &zone));
        ck_assert_uint_eq(message_uint(zone, 2), 0);
}
END_TEST

static int
probe_new(void **ret, PacketList *list, Perfetto__Protos__SysStatsConfig *sys, char **ret_error) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = { .config = &config, .sink = &list->sink };

        config.sys_stats_config = sys;
        return sys_stats_probe_ops.setup(ret, &setup, ret_error);
}

START_TEST(test_each_kind_is_sampled_on_its_own_grid) {
        Perfetto__Protos__SysStatsConfig sys = PERFETTO__PROTOS__SYS_STATS_CONFIG__INIT;
        const uint64_t ms = PROBE_NS_PER_MS;
        PacketList list = PACKET_LIST_INIT;
        char *error = NULL;
        WireReader stats;
        void *probe;

        sys.meminfo_period_ms = 20;
        sys.stat_period_ms = 30;
        ck_assert_int_eq(probe_new(&probe, &list, &sys, &error), 0);
        /* The first sample is at once, the next ones are on multiples. */
        ck_assert_uint_eq(sys_stats_probe_ops.poll(probe, 1003 * ms), 1020 * ms);
        ck_assert_uint_eq(sys_stats_probe_ops.poll(probe, 1010 * ms), 1020 * ms);
        ck_assert_uint_eq(list.n, 1);
        ck_assert_uint_eq(sys_stats_probe_ops.poll(probe, 1020 * ms + 5), 1040 * ms);
        ck_assert(packet_list_find(&list, PACKET_SYS_STATS, 0, &stats));
        ck_assert_uint_ge(message_count(stats, 1), 20);
        ck_assert_uint_ge(message_count(stats, 3), 1);
        ck_assert_uint_eq(list.n, 2);
        /* 1020 is a multiple of both. */
        ck_assert(packet_list_find(&list, PACKET_SYS_STATS, 1, &stats));
        ck_assert_uint_ge(message_count(stats, 3), 1);
        ck_assert_uint_eq(sys_stats_probe_ops.poll(probe, 1040 * ms), 1050 * ms);
        ck_assert(packet_list_find(&list, PACKET_SYS_STATS, 2, &stats));
        ck_assert_uint_ge(message_count(stats, 1), 20);
        ck_assert_uint_eq(message_count(stats, 3), 0);
        /* Late by more than a period: one sample, and back on the grid. */
        ck_assert_uint_eq(sys_stats_probe_ops.poll(probe, 1201 * ms), 1220 * ms);
        ck_assert_uint_eq(list.n, 4);
        sys_stats_probe_ops.free(probe);
        packet_list_deinit(&list);
}
END_TEST

START_TEST(test_a_config_without_periods_is_refused) {
        Perfetto__Protos__SysStatsConfig sys = PERFETTO__PROTOS__SYS_STATS_CONFIG__INIT;
        PacketList list = PACKET_LIST_INIT;
        char *error = NULL;
        void *probe;

        ck_assert_int_eq(probe_new(&probe, &list, &sys, &error), PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(error, "meminfo_period_ms"));
        free(error);
}
END_TEST

TEST_MAIN("sys-stats",
          test_meminfo_and_vmstat_are_written_by_number,
          test_only_wanted_counters_are_written_and_lines_may_move,
          test_times_of_each_cpu_are_nanoseconds,
          test_the_machines_own_stat_is_understood,
          test_pressure_is_nanoseconds_of_some_and_full,
          test_disks_that_were_used_are_written,
          test_temperatures_are_whole_degrees,
          test_each_kind_is_sampled_on_its_own_grid,
          test_a_config_without_periods_is_refused)
