/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include "managers/boot-stages.h"
#include "slice-list.h"

#define BEFORE "Before the kernel (drawn from its beginning)"

static PacketList list;

static void write_stages(const BootTimes *times) {
        PacketWriter packets;
        TrackWriter tracks;

        packet_list_deinit(&list);
        packet_writer_init(&packets, &list.sink);
        track_writer_init(&tracks, &packets, "test");
        boot_stages_write(&tracks, 0, times);
        track_writer_deinit(&tracks);
        packet_writer_deinit(&packets);
}

static bool begins(const char *track, size_t i, const char *name, uint64_t at_us) {
        return slice_list_is(&list, track, i, SLICE_BEGIN, name, at_us);
}

static bool ends(const char *track, size_t i, uint64_t at_us) {
        return slice_list_is(&list, track, i, SLICE_END, NULL, at_us);
}

START_TEST(test_a_machine_has_all_stages) {
        write_stages(&(BootTimes){ .us = {
                                           [BOOT_FIRMWARE] = 5000,
                                           [BOOT_LOADER] = 2000,
                                           [BOOT_KERNEL_REALTIME] = 1,
                                           [BOOT_INITRD] = 700,
                                           [BOOT_USERSPACE] = 900,
                                           [BOOT_GENERATORS_START] = 910,
                                           [BOOT_GENERATORS_FINISH] = 950,
                                           [BOOT_UNITS_START] = 950,
                                           [BOOT_UNITS_FINISH] = 990,
                                           [BOOT_FINISH] = 3000,
                                   } });
        ck_assert(begins(BEFORE, 0, "firmware", 0));
        ck_assert(ends(BEFORE, 1, 3000));
        ck_assert(begins(BEFORE, 2, "loader", 3000));
        ck_assert(ends(BEFORE, 3, 5000));
        ck_assert(begins("Boot", 0, "kernel", 0));
        ck_assert(ends("Boot", 1, 700));
        ck_assert(begins("Boot", 2, "initrd", 700));
        ck_assert(ends("Boot", 3, 900));
        ck_assert(begins("Boot", 4, "userspace", 900));
        ck_assert(begins("Boot", 5, "generators", 910));
        ck_assert(begins("Boot", 7, "loading units", 950));
        ck_assert(ends("Boot", 9, 3000));
        ck_assert_uint_eq(slice_list_count(&list, "Boot"), 10);
        packet_list_deinit(&list);
}
END_TEST

START_TEST(test_a_container_has_only_userspace) {
        write_stages(&(BootTimes){ .us = { [BOOT_USERSPACE] = 900, [BOOT_FINISH] = 3000 } });
        ck_assert_uint_eq(slice_list_track(&list, BEFORE), 0);
        ck_assert(begins("Boot", 0, "userspace", 900));
        ck_assert_uint_eq(slice_list_count(&list, "Boot"), 2);
        packet_list_deinit(&list);
}
END_TEST

START_TEST(test_a_boot_that_goes_on_is_not_ended) {
        write_stages(&(BootTimes){ .us = { [BOOT_USERSPACE] = 900 } });
        ck_assert_uint_eq(slice_list_count(&list, "Boot"), 1);
        packet_list_deinit(&list);
}
END_TEST

START_TEST(test_times_that_cannot_be_are_left_out) {
        BootTimes times;

        for (size_t i = 0; i < _BOOT_TIME_N; i++)
                times.us[i] = UINT64_MAX - i;
        write_stages(&times);
        ck_assert_uint_eq(slice_list_count(&list, "Boot"), 0);
        ck_assert_uint_eq(slice_list_count(&list, BEFORE), 0);
        /* Parts that are not within their stage, and a stage that ends before it begins. */
        write_stages(&(BootTimes){ .us = {
                                           [BOOT_USERSPACE] = 900,
                                           [BOOT_GENERATORS_START] = 800,
                                           [BOOT_GENERATORS_FINISH] = 950,
                                           [BOOT_UNITS_START] = 990,
                                           [BOOT_UNITS_FINISH] = 960,
                                           [BOOT_FINISH] = 100,
                                   } });
        ck_assert_uint_eq(slice_list_count(&list, "Boot"), 1);
        packet_list_deinit(&list);
}
END_TEST

int main(void) {
        const TTest *tests[] = { test_a_machine_has_all_stages,
                                 test_a_container_has_only_userspace,
                                 test_a_boot_that_goes_on_is_not_ended,
                                 test_times_that_cannot_be_are_left_out };

        list = (PacketList)PACKET_LIST_INIT;
        return test_run("managers-boot-stages", tests, sizeof(tests) / sizeof(tests[0]));
}
