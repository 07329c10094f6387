/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The texts of /proc and /sys that linux.sys_stats reads, as they are and as they should not be.
 */

#include <inttypes.h>

#include "test.h"

#include "fixture.h"
#include "probes/proc/counters.h"
#include "probes/proc/gpu-frequency.h"
#include "probes/proc/line.h"
#include "probes/proc/machine.h"
#include "probes/proc/net-dev.h"
#include "probes/proc/stat.h"
#include "sys_stats_counters.pb-c.h"
#include "track-list.h"

#define NOW_NS 5000000

static uint8_t memory[1 << 20];
static WireWriter wire;
static PacketList list = PACKET_LIST_INIT;
static PacketWriter packets;
static TrackWriter tracks;

static void setup(void) {
        packet_writer_init(&packets, &list.sink);
        track_writer_init(&tracks, &packets, "test");
}

static void teardown(void) {
        track_writer_deinit(&tracks);
        packet_writer_deinit(&packets);
        packet_list_deinit(&list);
}

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

static WireReader submessage(WireReader message, uint32_t field, size_t skip) {
        WireReader ret = {};

        ck_assert(message_submessage(message, field, skip, &ret));
        return ret;
}

START_TEST(test_numbers_are_bounded_by_their_line) {
        const char *at = "  12\t99999999999999999999 18446744073709551615 -3\n4";
        int64_t number;
        uint64_t value;

        setup();
        ck_assert(line_number(&at, &value));
        ck_assert_uint_eq(value, 12);
        ck_assert(line_number(&at, &value));
        ck_assert_uint_eq(value, UINT64_MAX);
        ck_assert(line_number(&at, &value));
        ck_assert_uint_eq(value, UINT64_MAX);
        ck_assert(!line_number(&at, &value));
        ck_assert(line_signed(&at, &number));
        ck_assert_int_eq(number, -3);
        ck_assert(!line_number(&at, &value));
        at = line_next(at);
        ck_assert(line_number(&at, &value));
        ck_assert_uint_eq(value, 4);
        ck_assert(!line_number(&at, &value));
        at = "-99999999999999999999 -";
        ck_assert(line_signed(&at, &number));
        ck_assert_int_eq(number, -INT64_MAX);
        ck_assert(!line_signed(&at, &number));
        teardown();
}
END_TEST

/*
 * meminfo and vmstat
 */

/* The value of a counter in repeated field 1 or 2. */
static uint64_t counter_value(WireReader stats, uint32_t field, uint32_t number) {
        WireReader value;

        for (size_t i = 0; message_submessage(stats, field, i, &value); i++)
                if (message_uint(value, 1) == number)
                        return message_uint(value, 2);
        return UINT64_MAX;
}

static WireReader encode_counters(Counters *counters, const char *text) {
        counters_encode(counters, text, encode_begin(), &tracks, NOW_NS);
        return encode_end();
}

START_TEST(test_meminfo_and_vmstat_are_written_by_number) {
        char *meminfo = fixture_read("proc/meminfo", NULL),
             *vmstat = fixture_read("proc/vmstat", NULL);
        Counters counters;
        WireReader stats;
        const char *line;
        uint64_t expected;

        setup();
        ck_assert_int_eq(counters_init(&counters, COUNTER_MEMINFO, NULL, 0), 0);
        stats = encode_counters(&counters, meminfo);
        ck_assert_int_eq(sscanf(meminfo, "MemTotal: %" SCNu64, &expected), 1);
        ck_assert_uint_eq(
                counter_value(stats, 1, PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_MEM_TOTAL),
                expected);
        line = strstr(meminfo, "\nInactive(anon)");
        ck_assert(line && sscanf(line, " Inactive(anon): %" SCNu64, &expected) == 1);
        ck_assert_uint_eq(
                counter_value(stats, 1, PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_INACTIVE_ANON),
                expected);
        ck_assert_uint_ge(message_count(stats, 1), 30);
        counters_deinit(&counters);

        ck_assert_int_eq(counters_init(&counters, COUNTER_VMSTAT, NULL, 0), 0);
        stats = encode_counters(&counters, vmstat);
        line = strstr(vmstat, "\npgfault ");
        ck_assert(line && sscanf(line, " pgfault %" SCNu64, &expected) == 1);
        ck_assert_uint_eq(
                counter_value(stats, 2, PERFETTO__PROTOS__VMSTAT_COUNTERS__VMSTAT_PGFAULT),
                expected);
        ck_assert_uint_ge(message_count(stats, 2), 140);
        counters_deinit(&counters);
        free(meminfo);
        free(vmstat);
        teardown();
}
END_TEST

static size_t count_lines(const char *text) {
        size_t n = 0;

        for (; *text; text++)
                n += *text == '\n';
        return n;
}

START_TEST(test_no_line_of_this_kernels_files_is_lost) {
        static const char *const files[] = { "proc/meminfo", "proc/vmstat" };

        setup();
        for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
                char *text = fixture_read(files[i], NULL);
                Counters counters;
                WireReader stats;
                size_t n_tracks = tracks.n_tracks;

                ck_assert_int_eq(counters_init(&counters, (CounterFile)i, NULL, 0), 0);
                stats = encode_counters(&counters, text);
                /* A track more: the group. */
                ck_assert_uint_eq(message_count(stats, (uint32_t)i + 1) + tracks.n_tracks -
                                          n_tracks - 1,
                                  count_lines(text));
                counters_deinit(&counters);
                free(text);
        }
        ck_assert(track_list_is_in(&list, "HugePages_Total", "meminfo"));
        ck_assert(track_list_is_in(&list, "zswpin", "vmstat"));
        teardown();
}
END_TEST

START_TEST(test_keys_without_a_number_are_tracks_in_their_unit) {
        Counters counters;
        WireReader stats, track;

        setup();
        ck_assert_int_eq(counters_init(&counters, COUNTER_MEMINFO, NULL, 0), 0);
        stats = encode_counters(&counters,
                                "MemFree: 1 kB\nNewKind:   22 kB\nHugePages_New:    3\n");
        ck_assert_uint_eq(message_count(stats, 1), 1);
        ck_assert_int_eq(track_list_first(&list, "NewKind"), 22 * 1024);
        ck_assert_int_eq(track_list_first(&list, "HugePages_New"), 3);
        ck_assert(track_list_find(&list, "NewKind", &track));
        ck_assert_uint_eq(message_uint(submessage(track, 8, 0), 3), TRACK_UNIT_BYTES);
        encode_counters(&counters, "HugePages_New: 4\n");
        ck_assert_uint_eq(track_list_count(&list, "HugePages_New"), 2);
        ck_assert_uint_eq(track_list_count(&list, "NewKind"), 1);
        counters_deinit(&counters);
        teardown();
}
END_TEST

START_TEST(test_only_wanted_counters_are_written_and_lines_may_move) {
        static const uint32_t wanted[] = { PERFETTO__PROTOS__MEMINFO_COUNTERS__MEMINFO_CACHED,
                                           9999 };
        Counters counters;
        WireReader stats;

        setup();
        ck_assert_int_eq(counters_init(&counters, COUNTER_MEMINFO, wanted, 2), 0);
        stats = encode_counters(&counters,
                                "MemFree: 1 kB\nCached:   22 kB\nSwapCached: 3 kB\nNew: 4 kB\n");
        ck_assert_uint_eq(message_count(stats, 1), 1);
        ck_assert_uint_eq(counter_value(stats, 1, wanted[0]), 22);
        stats = encode_counters(&counters, "Cached: 23 kB\nSwapCached: 3 kB");
        ck_assert_uint_eq(message_count(stats, 1), 1);
        ck_assert_uint_eq(counter_value(stats, 1, wanted[0]), 23);
        ck_assert_uint_eq(list.n, 0);
        counters_deinit(&counters);
        teardown();
}
END_TEST

START_TEST(test_keys_without_a_number_are_bounded) {
        Counters counters;
        char text[32];

        setup();
        ck_assert_int_eq(counters_init(&counters, COUNTER_VMSTAT, NULL, 0), 0);
        for (int i = 0; i < 2 * COUNTER_UNKNOWN_MAX; i++) {
                snprintf(text, sizeof(text), "made_up_%d 1\n", i);
                encode_counters(&counters, text);
        }
        ck_assert_uint_eq(counters.n_names - counters.n_known, COUNTER_UNKNOWN_MAX);
        encode_counters(&counters, "b\xffnary 1\n 1\nnegative -1\nempty\nword x\n");
        ck_assert_uint_eq(counters.n_names - counters.n_known, COUNTER_UNKNOWN_MAX);
        counters_deinit(&counters);
        teardown();
}
END_TEST

/*
 * stat
 */

static const StatSettings stat_all = { .wanted = STAT_ALL, .ns_per_tick = 10000000 };

START_TEST(test_times_of_each_cpu_are_nanoseconds) {
        static const StatSettings forks = { .wanted = STAT_FORK_COUNT, .ns_per_tick = 10000000 };
        static const char text[] = "cpu  9 9 9 9 9 9 9 9 9 9\n"
                                   "cpu0 1 2 3 4 5 6 7 8 0 0\n"
                                   "cpu11 10 20 30 40 50 60 70 80 0 0\n"
                                   "intr 100 0 7 0 93\n"
                                   "ctxt 5\nbtime 5\nprocesses 77\nprocs_running 1\n"
                                   "softirq 30 10 0 20\n";
        WireReader stats, cpu, irq;

        setup();
        stat_encode(text, &stat_all, encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 3), 2);
        cpu = submessage(stats, 3, 1);
        ck_assert_uint_eq(message_uint(cpu, 1), 11);
        ck_assert_uint_eq(message_uint(cpu, 2), 100000000);
        ck_assert_uint_eq(message_uint(cpu, 9), 800000000);
        ck_assert_uint_eq(message_uint(stats, 4), 77);
        ck_assert_uint_eq(message_uint(stats, 5), 100);
        ck_assert_uint_eq(message_count(stats, 6), 2);
        irq = submessage(stats, 6, 1);
        ck_assert_uint_eq(message_uint(irq, 1), 3);
        ck_assert_uint_eq(message_uint(irq, 2), 93);
        ck_assert_uint_eq(message_uint(stats, 7), 30);
        ck_assert_uint_eq(message_count(stats, 8), 2);

        stat_encode(text, &forks, encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_uint(stats, 4), 77);
        ck_assert_uint_eq(
                message_count(stats, 3) + message_count(stats, 5) + message_count(stats, 7), 0);
        teardown();
}
END_TEST

START_TEST(test_time_in_virtual_machines_is_a_track_where_there_is_any) {
        static const StatSettings forks = { .wanted = STAT_FORK_COUNT, .ns_per_tick = 10000000 };
        static const char text[] = "cpu  9 9 9 9 9 9 9 9 5 7\n"
                                   "cpu0 1 2 3 4 5 6 7 8 0 0\n"
                                   "cpu3 1 2 3 4 5 6 7 8 5 7\n"
                                   "intr 1\n";

        setup();
        stat_write_tracks(text, &forks, &tracks, NOW_NS);
        ck_assert_uint_eq(list.n, 0);
        stat_write_tracks(text, &stat_all, &tracks, NOW_NS);
        ck_assert_int_eq(track_list_first(&list, "cpu3 guest"), 50000000);
        ck_assert_int_eq(track_list_first(&list, "cpu3 guest nice"), 70000000);
        ck_assert_uint_eq(tracks.n_tracks, 3); /* with their group */
        teardown();
}
END_TEST

START_TEST(test_the_machines_own_stat_is_understood) {
        char *text = fixture_read("proc/stat", NULL);
        WireReader stats;

        setup();
        stat_encode(text, &stat_all, encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 3), 2);
        ck_assert_uint_ne(message_uint(stats, 5), UINT64_MAX);
        ck_assert_uint_ge(message_count(stats, 8), 3);
        free(text);
        teardown();
}
END_TEST

/*
 * Pressure, disks, memory
 */

START_TEST(test_pressure_is_nanoseconds_of_some_and_full) {
        WireReader stats, psi;
        uint64_t total_ns;

        setup();
        psi_encode("some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n"
                   "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
                   PSI_IO_SOME,
                   PSI_IO_FULL,
                   encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 14), 2);
        psi = submessage(stats, 14, 1);
        ck_assert_uint_eq(message_uint(psi, 1), PSI_IO_FULL);
        ck_assert_uint_eq(message_uint(psi, 2), 5000);
        /* Another line's total is not this one's. */
        ck_assert(!psi_total("some avg10=0.00\nfull avg10=0.00 total=5\n", "some ", &total_ns));
        ck_assert(!psi_total("full total=-5\n", "full ", &total_ns));
        teardown();
}
END_TEST

START_TEST(test_disks_that_were_used_are_written) {
        WireReader stats, disk;

        setup();
        diskstats_encode("   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                         " 254       0 vda 11 1 22 33 44 2 55 66 0 1 2 3 4 77 88 99 110\n"
                         " 254       1 vda1 1 2\n nothing of that\n 254 2\n",
                         encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 13), 2);
        disk = submessage(stats, 13, 0);
        ck_assert(message_has_text(disk, 1, "vda"));
        ck_assert_uint_eq(message_uint(disk, 2), 22);
        ck_assert_uint_eq(message_uint(disk, 3), 33);
        ck_assert_uint_eq(message_uint(disk, 4), 55);
        ck_assert_uint_eq(message_uint(disk, 5), 66);
        ck_assert_uint_eq(message_uint(disk, 6), 77);
        ck_assert_uint_eq(message_uint(disk, 7), 88);
        ck_assert_uint_eq(message_uint(disk, 8), 99);
        ck_assert_uint_eq(message_uint(disk, 9), 110);
        ck_assert(message_has_text(submessage(stats, 13, 1), 1, "vda1"));
        teardown();
}
END_TEST

START_TEST(test_free_blocks_are_those_of_each_zone_and_order) {
        char *text = fixture_read("proc/buddyinfo", NULL);
        WireReader stats, zone;

        setup();
        buddyinfo_encode(text, encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 12), 3);
        zone = submessage(stats, 12, 1);
        ck_assert(message_has_text(zone, 1, "0"));
        ck_assert(message_has_text(zone, 2, "DMA32"));
        ck_assert_uint_eq(message_count(zone, 3), 11);
        ck_assert_uint_eq(message_uint(zone, 3), 1);
        free(text);

        /* A reader makes 2 to the power of each order. */
        buddyinfo_encode("Node 0, zone X 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
                         "Node 0\nNode\n",
                         encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 12), 1);
        ck_assert_uint_eq(message_count(submessage(stats, 12, 0), 3), BUDDY_ORDERS_MAX);
        teardown();
}
END_TEST

START_TEST(test_slabs_are_those_of_each_cache) {
        WireReader stats, slab;

        setup();
        slabinfo_encode("slabinfo - version: 2.1\n"
                        "# name            <active_objs> <num_objs> <objsize> : tunables …\n"
                        "kmalloc-8k   101    104   8192    4    8 : tunables    0    0    0 : "
                        "slabdata     26     27      0\n"
                        "cut 1 2 3 4 5 : tunables 0\n"
                        "kmalloc-4k 1 2\n",
                        encode_begin());
        stats = encode_end();
        ck_assert_uint_eq(message_count(stats, 18), 1);
        slab = submessage(stats, 18, 0);
        ck_assert(message_has_text(slab, 1, "kmalloc-8k"));
        ck_assert_uint_eq(message_uint(slab, 2), 8);
        ck_assert_uint_eq(message_uint(slab, 3), 27);
        teardown();
}
END_TEST

/*
 * Network
 */

static const char net_dev[] =
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
        "drop fifo colls carrier compressed\n"
        "    lo:    3267      29    0    0    0     0          0         0     3267      29    0 "
        "   0    0     0       0          0\n"
        "  ifb0:       0       0    0    0    0     0          0         0        0       0    0 "
        "   0    0     0       0          0\n"
        "wlp2s0:45546154 1869    0    7    0     0          0         0   123297    1478    0    0 "
        "   0     0       0          0\n";

START_TEST(test_interfaces_that_were_used_are_tracks) {
        WireReader track;

        setup();
        net_dev_write_tracks(net_dev, &tracks, NOW_NS);
        ck_assert(track_list_is_in(&list, "lo received bytes", "Network"));
        ck_assert_int_eq(track_list_first(&list, "lo received bytes"), 3267);
        ck_assert_int_eq(track_list_first(&list, "wlp2s0 received bytes"), 45546154);
        ck_assert_int_eq(track_list_first(&list, "wlp2s0 received packets"), 1869);
        ck_assert_int_eq(track_list_first(&list, "wlp2s0 sent bytes"), 123297);
        ck_assert_int_eq(track_list_first(&list, "wlp2s0 sent packets"), 1478);
        ck_assert(!track_list_find(&list, "ifb0 sent bytes", &track));
        teardown();
}
END_TEST

START_TEST(test_errors_of_an_interface_are_a_track_when_there_are_any) {
        WireReader track;

        setup();
        net_dev_write_tracks(net_dev, &tracks, NOW_NS);
        ck_assert_int_eq(track_list_first(&list, "wlp2s0 received packets dropped"), 7);
        ck_assert(!track_list_find(&list, "wlp2s0 receive errors", &track));
        ck_assert(!track_list_find(&list, "lo received packets dropped", &track));
        teardown();
}
END_TEST

START_TEST(test_interfaces_are_bounded_and_their_names_printable) {
        char text[NET_DEV_INTERFACES_MAX * 2 * 64], *at = text;
        WireReader track;

        setup();
        for (int i = 0; i < 2 * NET_DEV_INTERFACES_MAX; i++)
                at += snprintf(at, 64, "veth\xff%d: 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", i);
        net_dev_write_tracks(text, &tracks, NOW_NS);
        ck_assert(track_list_find(&list, "veth?0 received bytes", &track));
        ck_assert_uint_eq(tracks.n_tracks, 1 + 4 * NET_DEV_INTERFACES_MAX);
        packet_list_deinit(&list);
        net_dev_write_tracks("eth0: 1 2 3\n: 1\n:\neth1:\n", &tracks, NOW_NS);
        ck_assert_uint_eq(list.n, 0);
        teardown();
}
END_TEST

/*
 * Graphics cards
 */

START_TEST(test_the_step_with_a_star_is_a_cards_frequency) {
        SysFile file = { .pattern = 3 };
        uint64_t khz;

        setup();
        ck_assert_ptr_nonnull(strstr(gpu_frequency_patterns[file.pattern], "pp_dpm_sclk"));
        ck_assert(gpu_frequency_parse(&file, "0: 500Mhz\n1: 1100Mhz *\n2: 2000Mhz\n", &khz));
        ck_assert_uint_eq(khz, 1100000);
        ck_assert(!gpu_frequency_parse(&file, "0: 500Mhz\n1: 1100Mhz\n", &khz));
        ck_assert(!gpu_frequency_parse(&file, "*\n: *\n", &khz));
        ck_assert(!gpu_frequency_parse(&file, "", &khz));
        teardown();
}
END_TEST

TEST_MAIN("sys-text",
          test_numbers_are_bounded_by_their_line,
          test_meminfo_and_vmstat_are_written_by_number,
          test_no_line_of_this_kernels_files_is_lost,
          test_keys_without_a_number_are_tracks_in_their_unit,
          test_only_wanted_counters_are_written_and_lines_may_move,
          test_keys_without_a_number_are_bounded,
          test_times_of_each_cpu_are_nanoseconds,
          test_time_in_virtual_machines_is_a_track_where_there_is_any,
          test_the_machines_own_stat_is_understood,
          test_pressure_is_nanoseconds_of_some_and_full,
          test_disks_that_were_used_are_written,
          test_free_blocks_are_those_of_each_zone_and_order,
          test_slabs_are_those_of_each_cache,
          test_interfaces_that_were_used_are_tracks,
          test_errors_of_an_interface_are_a_track_when_there_are_any,
          test_interfaces_are_bounded_and_their_names_printable,
          test_the_step_with_a_star_is_a_cards_frequency)
