/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * linux.sys_stats: what there is one of for each device, as devices come and go.
 */

#include "test.h"

#include <errno.h>
#include <sys/resource.h>

#include "sys-world.h"

#define CPU "sys/devices/system/cpu/"
#define DRM "sys/class/drm/"

#define GROUP_BYTES 128

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

/* A limit that lets no further descriptor be opened; returns the one before. */
static rlim_t forbid_descriptors(int n_more) {
        struct rlimit limit;
        rlim_t before;
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        close(fd);
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
        before = limit.rlim_cur;
        limit.rlim_cur = (rlim_t)(fd + n_more);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        return before;
}

static void allow_descriptors(rlim_t n) {
        struct rlimit limit;

        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
        limit.rlim_cur = n;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

START_TEST(test_without_descriptors_some_are_recorded_and_none_is_forgotten) {
        World world;
        rlim_t limit;

        world_new(&world);
        for (int i = 0; i < 20; i++) {
                char path[64];

                snprintf(path, sizeof(path), "sys/class/devfreq/%d/cur_freq", i);
                put(&world, path, "1\n");
        }
        world.config.devfreq_period_ms = 1000;
        limit = forbid_descriptors(10);
        world_record(&world);
        ck_assert_uint_eq(world.notes.n, 1);
        ck_assert_ptr_nonnull(strstr(world.notes.texts[0], strerror(EMFILE)));
        poll_at(&world, 1000 * MS);
        ck_assert_uint_ge(message_count(stats_of(&world, 0), 10), 5);
        /* The directory cannot even be listed. */
        poll_at(&world, 20000 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 1), 10),
                          message_count(stats_of(&world, 0), 10));
        allow_descriptors(limit);
        poll_at(&world, 40000 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 2), 10), 20);
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

START_TEST(test_a_file_without_end_is_not_read_to_its_end) {
        char *text = malloc(SYS_FILE_BYTES_MAX + (1u << 20));
        World world;

        ck_assert_ptr_nonnull(text);
        memset(text, '7', SYS_FILE_BYTES_MAX + (1u << 20));
        memcpy(text, "cpu0 1", strlen("cpu0 1"));
        world_new(&world);
        tree_put_bytes(&world.tree, "proc/stat", text, SYS_FILE_BYTES_MAX + (1u << 20));
        world.config.stat_period_ms = 100;
        world_record(&world);
        ck_assert_uint_eq(poll_at(&world, 1), 100 * MS);
        ck_assert_uint_eq(world.list.n, 0);
        /* It is asked again the next time. */
        put_fixture(&world, "proc/stat");
        poll_at(&world, 100 * MS);
        ck_assert_uint_eq(count_stats(&world), 1);
        world_free(&world);
        free(text);
}
END_TEST

/* False where no control group can be made. */
static bool make_group(char ret[static GROUP_BYTES]) {
        static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
        char file[GROUP_BYTES + 16];

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                snprintf(ret, GROUP_BYTES, "%s/desktrace-test-sys-stats", places[i]);
                (void)rmdir(ret);
                snprintf(file, sizeof(file), "%s/cgroup.stat", ret);
                if (mkdir(ret, 0755) == 0 && access(file, R_OK) == 0)
                        return true;
                (void)rmdir(ret);
        }
        return false;
}

/* A control group's files fail as those of a device that has gone: it is made, named like a device, and removed. */
START_TEST(test_a_device_that_is_another_one_now_is_found_soon) {
        char group[GROUP_BYTES], link[GROUP_BYTES + 16];
        World world;

        if (!make_group(group)) {
                test_skip("cannot make a control group here");
                return;
        }
        world_new(&world);
        put(&world, "sys/class/devfreq/b/cur_freq", "2\n");
        tree_make_parents(&world.tree, "sys/class/devfreq/a/cur_freq");
        snprintf(link, sizeof(link), "%s/cgroup.stat", group);
        ck_assert_int_eq(symlinkat(link, world.tree.fd, "sys/class/devfreq/a/cur_freq"), 0);
        world.config.devfreq_period_ms = 100;
        world_record(&world);
        poll_at(&world, 100 * MS);
        ck_assert_int_eq(rmdir(group), 0);
        poll_at(&world, 200 * MS);
        tree_remove(&world.tree, "sys/class/devfreq/a/cur_freq");
        put(&world, "sys/class/devfreq/a/cur_freq", "1\n");
        poll_at(&world, 1100 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 2), 10), 1);
        poll_at(&world, 1200 * MS);
        ck_assert_uint_eq(message_count(stats_of(&world, 3), 10), 2);
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

/* As linux.drm counts them, whose names of GPUs readers show. */
START_TEST(test_the_number_of_a_gpu_is_its_place_among_the_cards) {
        World world;

        world_new(&world);
        put(&world, DRM "card1/device/vendor", "0x1234\n");
        put(&world, DRM "card1-HDMI-A-1/status", "connected\n");
        put(&world, DRM "card10/gt_act_freq_mhz", "350\n");
        put(&world, DRM "card3/gt_act_freq_mhz", "300\n");
        world.config.gpufreq_period_ms = 1000;
        world_record(&world);
        poll_at(&world, 1000 * MS);
        ck_assert_uint_eq(frequency_of(&world, 0), UINT64_MAX);
        ck_assert_uint_eq(frequency_of(&world, 1), 300000);
        ck_assert_uint_eq(frequency_of(&world, 2), 350000);
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

TEST_MAIN("sys-devices",
          test_a_device_that_comes_is_recorded_from_then_on,
          test_a_device_that_goes_is_forgotten,
          test_without_descriptors_some_are_recorded_and_none_is_forgotten,
          test_what_cannot_be_read_now_is_left_out,
          test_a_file_without_end_is_not_read_to_its_end,
          test_a_device_that_is_another_one_now_is_found_soon,
          test_the_frequency_of_cpu_n_is_the_nth,
          test_idle_states_are_those_of_each_cpu,
          test_all_interrupts_of_a_large_machine_are_written,
          test_temperatures_are_whole_degrees_and_below_zero_a_track,
          test_thousandths_of_a_degree_are_tracks_in_place_of_packets,
          test_zones_of_one_type_are_told_apart,
          test_every_card_of_every_driver_has_its_frequency,
          test_the_number_of_a_gpu_is_its_place_among_the_cards,
          test_a_card_that_sleeps_is_not_woken_to_be_asked)
