/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From what an X server says of frames to slices; and the windows that are listened to. */

#include <unistd.h>

#include "bridges/x/window-set.h"
#include "bridges/x/x-recorder.h"
#include "managers/slice-list.h"
#include "test.h"

#define NOW_US UINT64_C(1000000000)
#define TRACK  "Frames 1 (X11)"

typedef struct Fixture {
        PacketList packets;
        PacketWriter writer;
        TrackWriter tracks;
        XRecorder recorder;
} Fixture;

static void fixture_init(Fixture *fixture) {
        fixture->packets = (PacketList)PACKET_LIST_INIT;
        packet_writer_init(&fixture->writer, &fixture->packets.sink);
        track_writer_init(&fixture->tracks, &fixture->writer, "org.x.present");
        ck_assert_int_eq(x_recorder_init(&fixture->recorder, &fixture->tracks), 0);
}

static void fixture_deinit(Fixture *fixture) {
        x_recorder_deinit(&fixture->recorder);
        track_writer_deinit(&fixture->tracks);
        packet_writer_deinit(&fixture->writer);
        packet_list_deinit(&fixture->packets);
}

static void
show(Fixture *fixture, uint32_t window, uint64_t at_us, uint64_t number, unsigned mode) {
        const XFrame frame = { window, getpid(), at_us, number, mode };

        x_recorder_take(&fixture->recorder, &frame, NOW_US * 1000);
}

START_TEST(test_slices_are_from_frame_to_frame) {
        Fixture fixture;

        fixture_init(&fixture);
        for (uint64_t i = 0; i < 3; i++)
                show(&fixture, 7, NOW_US + i * 16667, i, X_FRAME_COPIED);
        ck_assert(slice_list_is(&fixture.packets, TRACK, 0, SLICE_BEGIN, "frame", NOW_US));
        ck_assert(slice_list_is(&fixture.packets, TRACK, 1, SLICE_END, NULL, NOW_US + 16667));
        ck_assert(slice_list_is(&fixture.packets, TRACK, 3, SLICE_END, NULL, NOW_US + 33334));
        fixture_deinit(&fixture);
}
END_TEST

/* A display of 20 Hz: 50 ms are no late frame, but 100 are. */
START_TEST(test_late_is_measured_by_the_displays_own_numbers) {
        Fixture fixture;

        fixture_init(&fixture);
        for (uint64_t i = 0; i < 10; i++)
                show(&fixture, 7, NOW_US + i * 50000, 100 + i, X_FRAME_FLIPPED);
        show(&fixture, 7, NOW_US + 550000, 111, X_FRAME_FLIPPED);
        ck_assert(
                slice_list_is(&fixture.packets, TRACK, 16, SLICE_BEGIN, "frame", NOW_US + 400000));
        ck_assert(slice_list_is(
                &fixture.packets, TRACK, 18, SLICE_BEGIN, "late frame", NOW_US + 450000));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_windows_of_a_program_are_told_apart) {
        Fixture fixture;

        fixture_init(&fixture);
        for (uint64_t i = 0; i < 3; i++) {
                show(&fixture, 7, NOW_US + i * 16667, i, X_FRAME_COPIED);
                show(&fixture, 8, NOW_US + i * 16667 + 3, i, X_FRAME_COPIED);
        }
        ck_assert_uint_eq(slice_list_count(&fixture.packets, TRACK), 4);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "Frames 2 (X11)"), 4);
        fixture_deinit(&fixture);
}
END_TEST

/* As where two servers' events of one frame come. */
START_TEST(test_frame_counts_once) {
        Fixture fixture;

        fixture_init(&fixture);
        for (uint64_t i = 0; i < 6; i++)
                show(&fixture, 7, NOW_US + i / 2 * 16667, i / 2, X_FRAME_COPIED);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, TRACK), 4);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_times_that_cannot_be_are_passed_over) {
        const uint64_t times_us[] = { 0, 1, NOW_US * 2, UINT64_MAX, NOW_US - 20000000 };
        Fixture fixture;

        fixture_init(&fixture);
        for (size_t i = 0; i < ARRAY_SIZE(times_us); i++)
                show(&fixture, 7, times_us[i], i, X_FRAME_COPIED);
        ck_assert_uint_eq(fixture.recorder.n_nonsense, ARRAY_SIZE(times_us));
        ck_assert_uint_eq(fixture.packets.n, 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_skipped_frame_is_an_instant_and_no_frame) {
        Fixture fixture;
        WireReader event;

        fixture_init(&fixture);
        show(&fixture, 7, NOW_US, 1, X_FRAME_SKIPPED);
        ck_assert(packet_list_find(&fixture.packets, PACKET_TRACK_EVENT, 0, &event));
        ck_assert(message_has_text(event, 23, "skipped frame"));
        ck_assert_uint_eq(slice_list_track(&fixture.packets, TRACK), 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_windows_are_a_set) {
        static WindowSet set;

        for (uint32_t window = 1; window <= X_WINDOWS_MAX; window++)
                ck_assert(window_set_add(&set, window * 0x20000));
        ck_assert(!window_set_add(&set, 5)); /* there is no room */
        ck_assert(!window_set_add(&set, 0));
        for (uint32_t window = 1; window <= X_WINDOWS_MAX; window += 2)
                window_set_remove(&set, window * 0x20000);
        for (uint32_t window = 1; window <= X_WINDOWS_MAX; window++)
                ck_assert_int_eq(window_set_has(&set, window * 0x20000), window % 2 == 0);
        ck_assert_uint_eq(set.n, X_WINDOWS_MAX / 2);
        ck_assert(window_set_add(&set, 5));
        ck_assert(!window_set_add(&set, 5));
}
END_TEST

TEST_MAIN("bridges-x-recorder",
          test_slices_are_from_frame_to_frame,
          test_late_is_measured_by_the_displays_own_numbers,
          test_windows_of_a_program_are_told_apart,
          test_frame_counts_once,
          test_times_that_cannot_be_are_passed_over,
          test_skipped_frame_is_an_instant_and_no_frame,
          test_windows_are_a_set)
