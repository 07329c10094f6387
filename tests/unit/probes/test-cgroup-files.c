/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "test.h"

#include "probes/system/cgroup-files.h"
#include "probes/system/keyed-text.h"

static CgroupReading reading;

static void parse(CgroupFile file, const char *text) {
        cgroup_reading_init(&reading);
        cgroup_reading_add(&reading, file, text, strlen(text));
}

/* The value of the track `name`; -1 when the file had none. */
static int64_t value(const char *name) {
        for (size_t i = 0; i < CGROUP_N_COUNTERS; i++)
                if (streq(cgroup_counters[i].name, name) && reading.found & 1u << i)
                        return reading.values[i];
        return -1;
}

START_TEST(test_every_counter_has_a_name_of_its_own_and_files_are_in_one_piece) {
        for (size_t i = 1; i < CGROUP_N_COUNTERS; i++) {
                ck_assert_ptr_nonnull(cgroup_counters[i].name);
                ck_assert_int_ge(cgroup_counters[i].file, cgroup_counters[i - 1].file);
                for (size_t k = 0; k < i; k++)
                        ck_assert_str_ne(cgroup_counters[i].name, cgroup_counters[k].name);
        }
        for (size_t i = 0; i < _CGROUP_FILE_N; i++)
                ck_assert_ptr_nonnull(cgroup_files[i].name);
}
END_TEST

START_TEST(test_cpu_time_is_in_nanoseconds) {
        parse(CGROUP_CPU_STAT,
              "usage_usec 567779296\nuser_usec 497487676\nsystem_usec 70291619\nnice_usec "
              "28708360\n"
              "core_sched.force_idle_usec 0\nnr_periods 11\nnr_throttled 3\nthrottled_usec 4000\n"
              "nr_bursts 0\nburst_usec 0\n");
        ck_assert_int_eq(value("CPU time"), 567779296000);
        ck_assert_int_eq(value("CPU time: user"), 497487676000);
        ck_assert_int_eq(value("CPU time: system"), 70291619000);
        ck_assert_int_eq(value("CPU throttled: periods"), 3);
        ck_assert_int_eq(value("CPU throttled: time"), 4000000);
        ck_assert_uint_eq(reading.files, 1u << CGROUP_CPU_STAT);
}
END_TEST

START_TEST(test_what_a_hybrid_machine_lacks_is_no_value) {
        parse(CGROUP_CPU_STAT, "usage_usec 5\nuser_usec 3\nsystem_usec 2\n");
        ck_assert_int_eq(value("CPU time"), 5000);
        ck_assert_int_eq(value("CPU throttled: time"), -1);
}
END_TEST

START_TEST(test_memory_is_its_sum_and_its_parts) {
        parse(CGROUP_MEMORY_CURRENT, "104857600\n");
        ck_assert_int_eq(value("memory"), 104857600);
        parse(CGROUP_MEMORY_STAT,
              "anon 4096\nfile 8192\nkernel 100\nkernel_stack 16\nshmem 7\nfile_mapped 1\n"
              "file_dirty 2\nanon_thp 0\npgfault 99\npgmajfault 12\n");
        ck_assert_int_eq(value("memory: anonymous"), 4096);
        ck_assert_int_eq(value("memory: files"), 8192);
        ck_assert_int_eq(value("memory: kernel"), 100);
        ck_assert_int_eq(value("memory: shared"), 7);
        ck_assert_int_eq(value("memory: dirty"), 2);
        ck_assert_int_eq(value("major page faults"), 12);
        parse(CGROUP_MEMORY_EVENTS, "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n");
        ck_assert_int_eq(value("memory events: above high"), 1);
        ck_assert_int_eq(value("memory events: at max"), 2);
        ck_assert_int_eq(value("memory events: out of memory"), 3);
        ck_assert_int_eq(value("memory events: killed"), 4);
}
END_TEST

START_TEST(test_pressure_is_its_total) {
        static const char text[] = "some avg10=90.82 avg60=35.27 avg300=14.83 total=157431632\n"
                                   "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";

        parse(CGROUP_IO_PRESSURE, text);
        ck_assert_int_eq(value("IO pressure: some"), 157431632000);
        ck_assert_int_eq(value("IO pressure: full"), 7000);
        ck_assert_int_eq(value("CPU pressure: some"), -1);
        parse(CGROUP_IRQ_PRESSURE, "full avg10=0.00 avg60=0.00 avg300=0.00 total=31\n");
        ck_assert_int_eq(value("IRQ pressure: some"), -1);
        ck_assert_int_eq(value("IRQ pressure: full"), 31000);
}
END_TEST

START_TEST(test_each_device_has_its_own_io) {
        parse(CGROUP_IO_STAT,
              "259:0 rbytes=1000 wbytes=2000 rios=3 wios=4 dbytes=0 dios=0\n"
              "253:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0 cost.usage=5\n");
        ck_assert_uint_eq(reading.n_ios, 2);
        ck_assert_uint_eq(reading.ios[0].major, 259);
        ck_assert_int_eq(reading.ios[0].values[1], 2000);
        ck_assert_uint_eq(reading.ios[1].major, 253);
        ck_assert_int_eq(reading.ios[1].values[3], 2);
        ck_assert_uint_eq(reading.ios[1].found, 15);
}
END_TEST

START_TEST(test_devices_without_io_are_no_devices) {
        parse(CGROUP_IO_STAT, "7:0 \n8:0 8:16 rbytes=1 wbytes=2 rios=3 wios=4\n11:0\n");
        ck_assert_uint_ge(reading.n_ios, 1);
        ck_assert_uint_eq(reading.ios[0].minor, 16);
        ck_assert_uint_eq(reading.ios[0].found, 15);
        for (size_t i = 1; i < reading.n_ios; i++)
                ck_assert_uint_eq(reading.ios[i].found, 0);
}
END_TEST

START_TEST(test_there_is_a_limit_of_devices) {
        char text[8192] = "";

        for (size_t i = 0; i < CGROUP_DEVICES_MAX + 10; i++)
                snprintf(text + strlen(text), 64, "8:%zu rbytes=%zu\n", i, i);
        parse(CGROUP_IO_STAT, text);
        ck_assert_uint_eq(reading.n_ios, CGROUP_DEVICES_MAX);
        ck_assert_int_eq(reading.ios[CGROUP_DEVICES_MAX - 1].values[0], CGROUP_DEVICES_MAX - 1);
}
END_TEST

/* Each of them, for any file: nothing but what is whole and a number. */
START_TEST(test_what_is_cut_off_or_no_number_is_left_out) {
        static const char *const texts[] = {
                "",
                "\n\n   \n",
                "usage_usec",
                "usage_usec\n",
                "usage_usec 12", /* cut off: perhaps 123 */
                "usage_usec -5\n",
                "usage_usec 0x10\n",
                "usage_usec 18446744073709551616\n", /* beyond 64 bits */
                "usage_usec 18446744073709551\n",    /* beyond 63 bits as nanoseconds */
                "usage_usecs 5\n",
                "some avg10=0.00\nfull total=\n",
                "some total=-1\nfull =5\n",
                "max\n",
                "8:0 rbytes= wbytes rios=x wios=99999999999999999999\n",
                ": rbytes=1\n8: rbytes=1\n:8 rbytes=1\n8:8x rbytes=1\n4294967296:0 rbytes=1\n",
                "rbytes=1 wbytes=2\n",
        };

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                for (CgroupFile file = 0; file < _CGROUP_FILE_N; file++) {
                        parse(file, texts[i]);
                        ck_assert_msg(reading.found == 0, "%d: %s", (int)file, texts[i]);
                        for (size_t k = 0; k < reading.n_ios; k++)
                                ck_assert_uint_eq(reading.ios[k].found, 0);
                }
        cgroup_reading_init(&reading);
        cgroup_reading_add(&reading, CGROUP_CPU_STAT, NULL, 0);
        ck_assert_uint_eq(reading.found, 0);
}
END_TEST

START_TEST(test_a_bad_line_does_not_spoil_a_good_one) {
        parse(CGROUP_CPU_STAT, "usage_usec 5\nusage_usec 18446744073709551\nusage_usec x\n");
        ck_assert_int_eq(value("CPU time"), 5000);
}
END_TEST

START_TEST(test_zeros_within_a_text_are_not_its_end) {
        static const char text[] = "anon\0 1\nfile 5\n";

        cgroup_reading_init(&reading);
        cgroup_reading_add(&reading, CGROUP_MEMORY_STAT, text, sizeof(text) - 1);
        ck_assert_int_eq(value("memory: anonymous"), -1);
        ck_assert_int_eq(value("memory: files"), 5);
}
END_TEST

TEST_MAIN("cgroup-files",
          test_every_counter_has_a_name_of_its_own_and_files_are_in_one_piece,
          test_cpu_time_is_in_nanoseconds,
          test_what_a_hybrid_machine_lacks_is_no_value,
          test_memory_is_its_sum_and_its_parts,
          test_pressure_is_its_total,
          test_each_device_has_its_own_io,
          test_devices_without_io_are_no_devices,
          test_there_is_a_limit_of_devices,
          test_what_is_cut_off_or_no_number_is_left_out,
          test_a_bad_line_does_not_spoil_a_good_one,
          test_zeros_within_a_text_are_not_its_end)
