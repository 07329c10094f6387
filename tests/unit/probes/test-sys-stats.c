/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * linux.sys_stats: its periods, what is missing, and what is one file for the whole machine.
 */

#include "test.h"

#include <errno.h>

#include "sys-world.h"

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

START_TEST(test_without_a_config_the_usual_is_recorded_each_second) {
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        World world;
        ProbeSetup setup = { .config = &config, .sink = &world.list.sink };

        world_new(&world);
        put_fixture(&world, "proc/meminfo");
        put_fixture(&world, "proc/stat");
        ck_assert_int_eq(sys_stats_new(&world.probe, dup(world.tree.fd), &setup, &world.error), 0);
        ck_assert_uint_eq(poll_at(&world, 1500 * MS), 2000 * MS);
        ck_assert_uint_ge(message_count(stats_of(&world, 0), 1), 20);
        ck_assert_uint_ge(message_count(stats_of(&world, 0), 3), 1);
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
        ck_assert_uint_eq(world.notes.n, 0);
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
        ck_assert_uint_eq(world.notes.n, 1);
        ck_assert_ptr_nonnull(strstr(world.notes.texts[0], "/proc/1 is hidden"));
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
          test_without_a_config_the_usual_is_recorded_each_second,
          test_a_kind_that_is_missing_is_told_and_the_others_go_on,
          test_a_source_of_which_all_is_missing_is_refused_with_the_reason,
          test_only_what_is_asked_for_is_opened,
          test_pressure_by_interrupts_is_a_track,
          test_the_network_is_that_of_the_first_process,
          test_the_network_is_the_probes_own_where_that_is_all_to_see,
          test_queues_of_block_devices_have_names_that_people_know,
          test_tracks_are_described_again_after_a_clear,
          test_everything_that_this_machine_has_can_be_asked_for)
