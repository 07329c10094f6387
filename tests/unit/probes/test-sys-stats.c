/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * linux.sys_stats on trees of files, in virtual time.
 */

#include "test.h"

#include <errno.h>

#include "fixture.h"
#include "probes/proc/sys-kinds.h"
#include "probes/proc/sys-stats-probe.h"
#include "track-list.h"
#include "tree.h"

#define MS  PROBE_NS_PER_MS
#define CPU "sys/devices/system/cpu/"
#define DRM "sys/class/drm/"

typedef Perfetto__Protos__SysStatsConfig SysStatsConfig;

typedef struct World {
        Tree tree;
        SysStatsConfig config;
        ProbeNotes notes;
        PacketList list;
        void *probe;
        char *error;
} World;

static void world_new(World *world) {
        *world = (World){
                .tree = tree_new(),
                .config = PERFETTO__PROTOS__SYS_STATS_CONFIG__INIT,
                .list = PACKET_LIST_INIT,
        };
}

static void world_free(World *world) {
        sys_stats_probe_ops.free(world->probe);
        packet_list_deinit(&world->list);
        probe_notes_deinit(&world->notes);
        free(world->error);
        tree_free(&world->tree);
}

static int world_setup(World *world) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = {
                .config = &config,
                .notes = &world->notes,
                .sink = &world->list.sink,
        };

        config.sys_stats_config = &world->config;
        return sys_stats_new(&world->probe, dup(world->tree.fd), &setup, &world->error);
}

static void world_record(World *world) {
        ck_assert_msg(world_setup(world) == 0, "%s", world->error);
}

static uint64_t poll_at(World *world, uint64_t now_ns) {
        return sys_stats_probe_ops.poll(world->probe, now_ns);
}

static void put(World *world, const char *path, const char *text) {
        tree_put(&world->tree, path, text);
}

static void put_fixture(World *world, const char *path) {
        char *text = fixture_read(path, NULL);

        put(world, path, text);
        free(text);
}

/* The `skip`-th SysStats. */
static WireReader stats_of(const World *world, size_t skip) {
        WireReader stats = {};

        ck_assert(packet_list_find(&world->list, PACKET_SYS_STATS, skip, &stats));
        return stats;
}

static size_t count_stats(const World *world) {
        WireReader stats;
        size_t n = 0;

        while (packet_list_find(&world->list, PACKET_SYS_STATS, n, &stats))
                n++;
        return n;
}

static uint64_t value_of(WireReader message, uint32_t number, size_t skip) {
        WireField field;

        return message_field(message, number, skip, &field) ? field.value : UINT64_MAX;
}

static WireReader submessage(WireReader message, uint32_t field, size_t skip) {
        WireReader ret = {};

        ck_assert(message_submessage(message, field, skip, &ret));
        return ret;
}

/*
 * Periods
 */

START_TEST(test_each_kind_is_sampled_on_its_own_grid) {
        WireReader stats;
        World world;

        world_new(&world);
        put_fixture(&world, "proc/meminfo");
        put_fixture(&world, "proc/stat");
        world.config.meminfo_period_ms = 20;
        world.config.stat_period_ms = 30;
        world_record(&world);
        /* The first sample is at once, the next ones are on multiples. */
        ck_assert_uint_eq(poll_at(&world, 1003 * MS), 1020 * MS);
        ck_assert_uint_eq(poll_at(&world, 1010 * MS), 1020 * MS);
        ck_assert_uint_eq(count_stats(&world), 1);
        ck_assert_uint_eq(poll_at(&world, 1020 * MS + 5), 1040 * MS);
        stats = stats_of(&world, 0);
        ck_assert_uint_ge(message_count(stats, 1), 20);
        ck_assert_uint_ge(message_count(stats, 3), 1);
        ck_assert_uint_eq(count_stats(&world), 2);
        /* 1020 is a multiple of both. */
        ck_assert_uint_ge(message_count(stats_of(&world, 1), 3), 1);
        ck_assert_uint_eq(poll_at(&world, 1040 * MS), 1050 * MS);
        stats = stats_of(&world, 2);
        ck_assert_uint_ge(message_count(stats, 1), 20);
        ck_assert_uint_eq(message_count(stats, 3), 0);
        /* Late by more than a period: one sample, and back on the grid. */
        ck_assert_uint_eq(poll_at(&world, 1201 * MS), 1220 * MS);
        ck_assert_uint_eq(count_stats(&world), 4);
        world_free(&world);
}
END_TEST

/* Three periods of which none is a multiple of another: each is sampled at all of its multiples and at no other
 * time. */
START_TEST(test_periods_that_do_not_divide_each_other_are_each_exact) {
        static const uint64_t periods_ms[] = { 70, 110, 130 };
        static const uint32_t fields[] = { 1, 3, 13 };
        uint64_t now_ns = 1, next_ns;
        World world;

        world_new(&world);
        put_fixture(&world, "proc/meminfo");
        put_fixture(&world, "proc/stat");
        put_fixture(&world, "proc/diskstats");
        world.config.meminfo_period_ms = 70;
        world.config.stat_period_ms = 110;
        world.config.diskstat_period_ms = 130;
        world_record(&world);
        next_ns = poll_at(&world, now_ns);
        for (size_t n = 1; next_ns < 5000 * MS; n++) {
                WireReader stats;

                now_ns = next_ns;
                next_ns = poll_at(&world, now_ns);
                stats = stats_of(&world, n);
                for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                        ck_assert_int_eq(message_count(stats, fields[i]) > 0,
                                         now_ns % (periods_ms[i] * MS) == 0);
        }
        world_free(&world);
}
END_TEST

START_TEST(test_a_period_that_is_too_short_is_lengthened_and_told) {
        World world;

        world_new(&world);
        put_fixture(&world, "proc/stat");
        world.config.stat_period_ms = 1;
        world_record(&world);
        ck_assert_uint_eq(poll_at(&world, 1001 * MS), 1010 * MS);
        ck_assert_uint_eq(world.notes.n, 1);
        ck_assert_ptr_nonnull(strstr(world.notes.texts[0], "stat_period_ms: 1 is too short"));
        world_free(&world);
}
END_TEST

START_TEST(test_the_last_sample_is_of_all_kinds) {
        WireReader stats;
        World world;

        world_new(&world);
        put_fixture(&world, "proc/meminfo");
        put_fixture(&world, "proc/stat");
        world.config.meminfo_period_ms = 100;
        world.config.stat_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        sys_stats_probe_ops.stop(world.probe, 1030 * MS);
        stats = stats_of(&world, 1);
        ck_assert_uint_ge(message_count(stats, 1), 20);
        ck_assert_uint_ge(message_count(stats, 3), 1);
        world_free(&world);
}
END_TEST

/*
 * What is missing
 */

START_TEST(test_a_config_without_periods_is_refused) {
        World world;

        world_new(&world);
        ck_assert_int_eq(world_setup(&world), PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(world.error, "meminfo_period_ms"));
        world_free(&world);
}
END_TEST

START_TEST(test_a_kind_that_is_missing_is_told_and_the_others_go_on) {
        World world;

        world_new(&world);
        put_fixture(&world, "proc/stat");
        world.config.stat_period_ms = 100;
        world.config.psi_period_ms = 10;
        world_record(&world);
        ck_assert_uint_eq(world.notes.n, 1);
        ck_assert_ptr_nonnull(strstr(world.notes.texts[0], "psi_period_ms: /proc/pressure/cpu"));
        ck_assert_ptr_nonnull(strstr(world.notes.texts[0], strerror(ENOENT)));
        ck_assert_ptr_nonnull(strstr(world.notes.texts[0], "psi=1"));
        /* Nothing wakes up for what is not there, but to look for it. */
        poll_at(&world, 1 * MS);
        ck_assert_uint_eq(poll_at(&world, 100 * MS), 200 * MS);
        world_free(&world);
}
END_TEST

START_TEST(test_a_source_of_which_all_is_missing_is_refused_with_the_reason) {
        World world;

        world_new(&world);
        world.config.thermal_period_ms = 100;
        world.config.cpufreq_period_ms = 100;
        ck_assert_int_eq(world_setup(&world), PROBE_E_REFUSED);
        ck_assert_ptr_nonnull(strstr(world.error, "cpufreq_period_ms"));
        ck_assert_uint_eq(world.notes.n, 2);
        world_free(&world);
}
END_TEST

START_TEST(test_only_what_is_asked_for_is_opened) {
        World world;

        world_new(&world);
        put_fixture(&world, "proc/stat");
        /* If it were opened: a pipe would be waited for. */
        ck_assert_int_eq(mkfifoat(world.tree.fd, "proc/meminfo", 0600), 0);
        world.config.stat_period_ms = 100;
        world_record(&world);
        poll_at(&world, 1);
        ck_assert_uint_eq(message_count(stats_of(&world, 0), 1), 0);
        world_free(&world);
}
END_TEST

/*
 * Devices come and go
 */

START_TEST(test_a_device_that_comes_is_recorded_from_then_on) {
        World world;

        world_new(&world);
        put(&world, "sys/class/thermal/thermal_zone0/type", "acpitz\n");
        put(&world, "sys/class/thermal/thermal_zone0/temp", "27000\n");
        world.config.thermal_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        put(&world, "sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
        put(&world, "sys/class/thermal/thermal_zone1/temp", "45000\n");
        poll_at(&world, 2000 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 1), 15), 1);
        poll_at(&world, 11000 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 2), 15), 2);
        world_free(&world);
}
END_TEST

START_TEST(test_a_device_that_goes_is_forgotten) {
        World world;

        world_new(&world);
        put(&world, "sys/class/devfreq/a/cur_freq", "1\n");
        put(&world, "sys/class/devfreq/b/cur_freq", "2\n");
        world.config.devfreq_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 0), 10), 2);
        tree_remove(&world.tree, "sys/class/devfreq/a/cur_freq");
        poll_at(&world, 11000 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 1), 10), 1);
        ck_assert(message_has_text(submessage(stats_of(&world, 1), 10, 0), 1, "b"));
        /* None is left: it is looked for, but there is no packet. */
        tree_remove(&world.tree, "sys/class/devfreq/b/cur_freq");
        ck_assert_uint_eq(poll_at(&world, 22000 * MS), 30000 * MS);
        ck_assert_uint_eq(count_stats(&world), 2);
        put(&world, "sys/class/devfreq/b/cur_freq", "3\n");
        poll_at(&world, 32001 * MS);
        ck_assert_uint_eq(count_stats(&world), 3);
        world_free(&world);
}
END_TEST

START_TEST(test_what_cannot_be_read_now_is_left_out) {
        World world;

        world_new(&world);
        tree_put_unreadable(&world.tree, "sys/class/thermal/thermal_zone0/temp");
        put(&world, "sys/class/thermal/thermal_zone1/temp", "45000\n");
        put(&world, "sys/class/thermal/thermal_zone2/temp", "none\n");
        put(&world, "sys/class/thermal/thermal_zone3/temp", "");
        put(&world, "sys/class/thermal/thermal_zone99999999999/temp", "1000\n");
        put(&world, "sys/class/thermal/thermal_zone4x/temp", "1000\n");
        world.config.thermal_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 0), 15), 1);
        /* Without a type, a zone's name is one. */
        ck_assert(message_has_text(submessage(stats_of(&world, 0), 15, 0), 3, "thermal_zone1"));
        world_free(&world);
}
END_TEST

/*
 * Processors
 */

START_TEST(test_the_frequency_of_cpu_n_is_the_nth) {
        WireReader stats;
        World world;

        world_new(&world);
        put(&world, CPU "cpu10/cpufreq/scaling_cur_freq", "1000000\n");
        put(&world, CPU "cpu2/cpufreq/scaling_cur_freq", "200000\n");
        put(&world, CPU "cpu0/cpufreq/scaling_cur_freq", "100000\n");
        put(&world, CPU "cpu999999/cpufreq/scaling_cur_freq", "1\n");
        put(&world, CPU "cpufreq/scaling_cur_freq", "2\n");
        tree_put_unreadable(&world.tree, CPU "cpu5/cpufreq/scaling_cur_freq");
        world.config.cpufreq_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        poll_at(&world, 2000 * MS);
        stats = stats_of(&world, 1);
        ck_assert_uint_eq(message_count(stats, 11), 11);
        ck_assert_uint_eq(value_of(stats, 11, 0), 100000);
        ck_assert_uint_eq(value_of(stats, 11, 1), 0);
        ck_assert_uint_eq(value_of(stats, 11, 2), 200000);
        ck_assert_uint_eq(value_of(stats, 11, 5), 0);
        ck_assert_uint_eq(value_of(stats, 11, 10), 1000000);
        world_free(&world);
}
END_TEST

START_TEST(test_idle_states_are_those_of_each_cpu) {
        WireReader state, entry;
        World world;

        world_new(&world);
        put(&world, CPU "cpu0/cpuidle/state0/name", "POLL\n");
        put(&world, CPU "cpu0/cpuidle/state0/time", "5\n");
        put(&world, CPU "cpu3/cpuidle/state10/name", "C10\n");
        put(&world, CPU "cpu3/cpuidle/state10/time", "18446744073709551615\n");
        put(&world, CPU "cpu3/cpuidle/state2/time", "7\n");
        world.config.cpuidle_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 0), 16), 2);
        state = submessage(stats_of(&world, 0), 16, 1);
        ck_assert_uint_eq(message_uint(state, 1), 3);
        entry = submessage(state, 2, 0);
        ck_assert(message_has_text(entry, 1, "C10"));
        ck_assert_uint_eq(message_uint(entry, 2), UINT64_MAX);
        world_free(&world);
}
END_TEST

/* Larger than one read: the line of interrupts of a machine with very many. */
START_TEST(test_all_interrupts_of_a_large_machine_are_written) {
        enum { N = 4096 };
        char *text = malloc(N * 32), *at = text;
        World world;

        ck_assert_ptr_nonnull(text);
        at += sprintf(at, "cpu0 1 2 3 4 5 6 7 8 0 0\nintr 1");
        for (int i = 0; i < N; i++)
                at += sprintf(at, " %d", i % 2 ? 1000000000 + i : 0);
        sprintf(at, "\nprocesses 77\n");
        world_new(&world);
        put(&world, "proc/stat", text);
        world.config.stat_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 0), 6), N / 2);
        ck_assert_uint_eq(message_uint(stats_of(&world, 0), 4), 77);
        ck_assert_uint_eq(message_uint(submessage(stats_of(&world, 0), 6, N / 2 - 1), 1), N - 1);
        world_free(&world);
        free(text);
}
END_TEST

/*
 * Temperatures
 */

START_TEST(test_temperatures_are_whole_degrees_and_below_zero_a_track) {
        WireReader zone, track;
        World world;

        world_new(&world);
        put(&world, "sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
        put(&world, "sys/class/thermal/thermal_zone0/temp", "45600\n");
        put(&world, "sys/class/thermal/thermal_zone1/type", "outside\n");
        put(&world, "sys/class/thermal/thermal_zone1/temp", "-5250\n");
        world.config.thermal_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        zone = submessage(stats_of(&world, 0), 15, 0);
        ck_assert(message_has_text(zone, 1, "thermal_zone0"));
        ck_assert_uint_eq(message_uint(zone, 2), 46);
        ck_assert(message_has_text(zone, 3, "x86_pkg_temp"));
        ck_assert_uint_eq(message_uint(submessage(stats_of(&world, 0), 15, 1), 2), 0);
        ck_assert(!track_list_find(&world.list, "x86_pkg_temp m°C", &track));
        ck_assert_int_eq(track_list_first(&world.list, "outside m°C"), -5250);
        /* What was below zero is followed from then on. */
        put(&world, "sys/class/thermal/thermal_zone1/temp", "1500\n");
        poll_at(&world, 2000 * MS);
        ck_assert_uint_eq(message_uint(submessage(stats_of(&world, 1), 15, 1), 2), 2);
        ck_assert_uint_eq(track_list_count(&world.list, "outside m°C"), 2);
        world_free(&world);
}
END_TEST

START_TEST(test_thousandths_of_a_degree_are_tracks_in_place_of_packets) {
        World world;

        world_new(&world);
        put(&world, "sys/class/thermal/thermal_zone0/type", "acpitz\n");
        put(&world, "sys/class/thermal/thermal_zone0/temp", "45600\n");
        world.config.thermal_period_ms = 1000;
        world.config.thermal_millidegrees = true;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_uint_eq(count_stats(&world), 0);
        ck_assert_int_eq(track_list_first(&world.list, "acpitz m°C"), 45600);
        ck_assert(track_list_is_in(&world.list, "acpitz m°C", "Temperature"));
        world_free(&world);
}
END_TEST

START_TEST(test_zones_of_one_type_are_told_apart) {
        World world;

        world_new(&world);
        put(&world, "sys/class/thermal/thermal_zone2/type", "acpitz\n");
        put(&world, "sys/class/thermal/thermal_zone2/temp", "20000\n");
        put(&world, "sys/class/thermal/thermal_zone10/type", "acpitz\n");
        put(&world, "sys/class/thermal/thermal_zone10/temp", "30000\n");
        world.config.thermal_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert(message_has_text(submessage(stats_of(&world, 0), 15, 0), 3, "acpitz"));
        ck_assert(message_has_text(
                submessage(stats_of(&world, 0), 15, 1), 3, "acpitz thermal_zone10"));
        world_free(&world);
}
END_TEST

/*
 * Pressure, network, disks
 */

START_TEST(test_pressure_by_interrupts_is_a_track) {
        WireReader stats;
        World world;

        world_new(&world);
        put(&world, "proc/pressure/memory", "some total=3\nfull total=4\n");
        put(&world, "proc/pressure/cpu", "some total=1\nfull total=2\n");
        put(&world, "proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n");
        world.config.psi_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        stats = stats_of(&world, 0);
        ck_assert_uint_eq(message_count(stats, 14), 4);
        ck_assert_uint_eq(message_uint(submessage(stats, 14, 0), 1), 1);
        ck_assert_uint_eq(message_uint(submessage(stats, 14, 2), 1), 5);
        ck_assert_uint_eq(message_uint(submessage(stats, 14, 2), 2), 3000);
        ck_assert_int_eq(track_list_first(&world.list, "psi.irq.full"), 5000);
        world_free(&world);
}
END_TEST

#define INTERFACE(name, n) name ": " n " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

START_TEST(test_the_network_is_that_of_the_first_process) {
        WireReader track;
        World world;

        world_new(&world);
        put(&world, "proc/1/net/dev", INTERFACE("eth0", "5"));
        put(&world, "proc/net/dev", INTERFACE("lo", "6"));
        world.config.netdev_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_int_eq(track_list_first(&world.list, "eth0 received bytes"), 5);
        ck_assert(!track_list_find(&world.list, "lo received bytes", &track));
        world_free(&world);
}
END_TEST

START_TEST(test_the_network_is_the_probes_own_where_that_is_all_to_see) {
        World world;

        world_new(&world);
        put(&world, "proc/net/dev", INTERFACE("lo", "6"));
        world.config.netdev_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_int_eq(track_list_first(&world.list, "lo received bytes"), 6);
        world_free(&world);
}
END_TEST

START_TEST(test_queues_of_block_devices_have_names_that_people_know) {
        WireReader track;
        World world;

        world_new(&world);
        put(&world, "sys/block/dm-0/size", "100\n");
        put(&world, "sys/block/dm-0/dm/name", "vg-root\n");
        put(&world, "sys/block/dm-0/inflight", "       3        4\n");
        put(&world, "sys/block/sda/size", "100\n");
        put(&world, "sys/block/sda/device/model", "Disk of 1 TB    \n");
        put(&world, "sys/block/sda/inflight", "       0        0\n");
        put(&world, "sys/block/loop0/size", "0\n");
        put(&world, "sys/block/loop0/inflight", "       0        0\n");
        world.config.block_queue_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_int_eq(track_list_first(&world.list, "dm-0 (vg-root) reads in flight"), 3);
        ck_assert_int_eq(track_list_first(&world.list, "dm-0 (vg-root) writes in flight"), 4);
        ck_assert_int_eq(track_list_first(&world.list, "sda (Disk of 1 TB) reads in flight"), 0);
        ck_assert(track_list_is_in(
                &world.list, "sda (Disk of 1 TB) writes in flight", "Block queues"));
        ck_assert(!track_list_find(&world.list, "loop0 reads in flight", &track));
        ck_assert_uint_eq(count_stats(&world), 0);
        world_free(&world);
}
END_TEST

START_TEST(test_tracks_are_described_again_after_a_clear) {
        WireReader track;
        World world;

        world_new(&world);
        put(&world, "proc/1/net/dev", INTERFACE("eth0", "5"));
        world.config.netdev_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        packet_list_deinit(&world.list);
        poll_at(&world, 2000 * MS);
        ck_assert_uint_eq(world.list.n, 0);
        sys_stats_probe_ops.clear_incremental_state(world.probe);
        poll_at(&world, 3000 * MS);
        ck_assert(track_list_find(&world.list, "eth0 received bytes", &track));
        ck_assert_int_eq(track_list_first(&world.list, "eth0 received bytes"), 5);
        world_free(&world);
}
END_TEST

/*
 * Graphics cards
 */

/* The frequency of a card in kHz; UINT64_MAX without any. */
static uint64_t frequency_of(const World *world, uint32_t card) {
        WireReader event;

        for (size_t i = 0; packet_list_find(&world->list, PACKET_GPU_FREQUENCY, i, &event); i++)
                if (message_uint(event, 1) == card)
                        return message_uint(event, 2);
        return UINT64_MAX;
}

START_TEST(test_every_card_of_every_driver_has_its_frequency) {
        World world;

        world_new(&world);
        put(&world, DRM "card0/gt_act_freq_mhz", "999\n");
        put(&world, DRM "card0/gt/gt0/rps_act_freq_mhz", "300\n");
        put(&world, DRM "card0/gt/gt1/rps_act_freq_mhz", "400\n");
        put(&world, DRM "card1/gt_act_freq_mhz", "350\n");
        put(&world, DRM "card2/device/pp_dpm_sclk", "0: 500Mhz\n1: 1100Mhz *\n");
        put(&world, DRM "card3/device/tile0/gt0/freq0/act_freq", "1200\n");
        put(&world, DRM "card3/device/tile0/gt1/freq0/act_freq", "1300\n");
        put(&world, DRM "card4/device/devfreq/ff9a0000.gpu/cur_freq", "800000000\n");
        put(&world, DRM "card2-DP-1/gt_act_freq_mhz", "1\n");
        world.config.gpufreq_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_uint_eq(frequency_of(&world, 0), 300000);
        ck_assert_uint_eq(frequency_of(&world, 1), 350000);
        ck_assert_uint_eq(frequency_of(&world, 2), 1100000);
        ck_assert_uint_eq(frequency_of(&world, 3), 1200000);
        ck_assert_uint_eq(frequency_of(&world, 4), 800000);
        ck_assert_int_eq(track_list_first(&world.list, "card0 gt1 kHz"), 400000);
        ck_assert_int_eq(track_list_first(&world.list, "card3 tile0 gt1 kHz"), 1300000);
        world_free(&world);
}
END_TEST

START_TEST(test_a_card_that_sleeps_is_not_woken_to_be_asked) {
        World world;

        world_new(&world);
        /* If it were read there would be no frequency at all. */
        tree_put_unreadable(&world.tree, DRM "card0/device/pp_dpm_sclk");
        put(&world, DRM "card0/device/power/runtime_status", "suspended\n");
        put(&world, DRM "card1/gt_act_freq_mhz", "350\n");
        put(&world, DRM "card1/device/power/runtime_status", "active\n");
        world.config.gpufreq_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_uint_eq(frequency_of(&world, 0), 0);
        ck_assert_uint_eq(frequency_of(&world, 1), 350000);
        world_free(&world);
}
END_TEST

/*
 * This machine
 */

START_TEST(test_everything_that_this_machine_has_can_be_asked_for) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        SysStatsConfig sys = PERFETTO__PROTOS__SYS_STATS_CONFIG__INIT;
        ProbeNotes notes = {};
        PacketList list = PACKET_LIST_INIT;
        ProbeSetup setup = { .config = &config, .notes = &notes, .sink = &list.sink };
        char *error = NULL;
        WireReader stats;
        void *probe;

        config.sys_stats_config = &sys;
        for (size_t i = 0; i < SYS_N_KINDS; i++)
                memcpy((char *)&sys + sys_kinds[i].period, &(uint32_t){ 100 }, sizeof(uint32_t));
        ck_assert_msg(sys_stats_probe_ops.setup(&probe, &setup, &error) == 0, "%s", error);
        ck_assert_uint_eq(sys_stats_probe_ops.poll(probe, 1000 * MS), 1100 * MS);
        ck_assert(packet_list_find(&list, PACKET_SYS_STATS, 0, &stats));
        ck_assert_uint_ge(message_count(stats, 1), 20);
        ck_assert_uint_ge(message_count(stats, 3), 1);
        ck_assert_uint_lt(notes.n, SYS_N_KINDS);
        sys_stats_probe_ops.free(probe);
        probe_notes_deinit(&notes);
        packet_list_deinit(&list);
}
END_TEST

TEST_MAIN("sys-stats",
          test_each_kind_is_sampled_on_its_own_grid,
          test_periods_that_do_not_divide_each_other_are_each_exact,
          test_a_period_that_is_too_short_is_lengthened_and_told,
          test_the_last_sample_is_of_all_kinds,
          test_a_config_without_periods_is_refused,
          test_a_kind_that_is_missing_is_told_and_the_others_go_on,
          test_a_source_of_which_all_is_missing_is_refused_with_the_reason,
          test_only_what_is_asked_for_is_opened,
          test_a_device_that_comes_is_recorded_from_then_on,
          test_a_device_that_goes_is_forgotten,
          test_what_cannot_be_read_now_is_left_out,
          test_the_frequency_of_cpu_n_is_the_nth,
          test_idle_states_are_those_of_each_cpu,
          test_all_interrupts_of_a_large_machine_are_written,
          test_temperatures_are_whole_degrees_and_below_zero_a_track,
          test_thousandths_of_a_degree_are_tracks_in_place_of_packets,
          test_zones_of_one_type_are_told_apart,
          test_pressure_by_interrupts_is_a_track,
          test_the_network_is_that_of_the_first_process,
          test_the_network_is_the_probes_own_where_that_is_all_to_see,
          test_queues_of_block_devices_have_names_that_people_know,
          test_tracks_are_described_again_after_a_clear,
          test_every_card_of_every_driver_has_its_frequency,
          test_a_card_that_sleeps_is_not_woken_to_be_asked,
          test_everything_that_this_machine_has_can_be_asked_for)
