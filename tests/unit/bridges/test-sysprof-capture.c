/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From frames to slices and counters. */

#include <errno.h>
#include <unistd.h>

#include "bridges/sysprof/capture-recorder.h"
#include "capture-maker.h"
#include "managers/slice-list.h"
#include "test.h"

#define S INT64_C(1000000000)

typedef struct Fixture {
        PacketList packets;
        PacketWriter writer;
        TrackWriter tracks;
        CaptureRecorder recorder;
        CaptureMaker maker;
} Fixture;

static void fixture_init(Fixture *fixture) {
        *fixture = (Fixture){ .packets = PACKET_LIST_INIT };
        packet_writer_init(&fixture->writer, &fixture->packets.sink);
        track_writer_init(&fixture->tracks, &fixture->writer, "org.gnome.sysprof");
        ck_assert_int_eq(capture_recorder_init(&fixture->recorder, &fixture->tracks), 0);
}

static void fixture_deinit(Fixture *fixture) {
        capture_recorder_deinit(&fixture->recorder);
        track_writer_deinit(&fixture->tracks);
        packet_writer_deinit(&fixture->writer);
        packet_list_deinit(&fixture->packets);
}

/* What was made, at 1000 s. */
static void take(Fixture *fixture) {
        capture_recorder_take(
                &fixture->recorder, 1, fixture->maker.data, fixture->maker.n, 1000 * S);
        capture_recorder_write(&fixture->recorder);
        fixture->maker.n = 0;
}

static void mark(Fixture *fixture, int64_t begin_us, int64_t duration_us, const char *name) {
        capture_add_mark(
                &fixture->maker, getpid(), 990 * S + begin_us * 1000, duration_us * 1000, name, "");
}

#define AT(us) (UINT64_C(990000000) + (us))

START_TEST(test_marks_are_nested_whatever_their_order) {
        Fixture fixture;

        fixture_init(&fixture);
        mark(&fixture, 20, 10, "inner");
        mark(&fixture, 10, 40, "outer");
        mark(&fixture, 10, 5, "first");
        mark(&fixture, 45, 5, "last"); /* ends with the outer one */
        take(&fixture);
        ck_assert(slice_list_is(&fixture.packets, "marks", 0, SLICE_BEGIN, "outer", AT(10)));
        ck_assert(slice_list_is(&fixture.packets, "marks", 1, SLICE_BEGIN, "first", AT(10)));
        ck_assert(slice_list_is(&fixture.packets, "marks", 2, SLICE_END, NULL, AT(15)));
        ck_assert(slice_list_is(&fixture.packets, "marks", 3, SLICE_BEGIN, "inner", AT(20)));
        ck_assert(slice_list_is(&fixture.packets, "marks", 4, SLICE_END, NULL, AT(30)));
        ck_assert(slice_list_is(&fixture.packets, "marks", 5, SLICE_BEGIN, "last", AT(45)));
        ck_assert(slice_list_is(&fixture.packets, "marks", 6, SLICE_END, NULL, AT(50)));
        ck_assert(slice_list_is(&fixture.packets, "marks", 7, SLICE_END, NULL, AT(50)));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "marks"), 8);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_marks_that_cross_are_on_other_tracks) {
        Fixture fixture;

        fixture_init(&fixture);
        mark(&fixture, 10, 20, "a");
        take(&fixture);
        mark(&fixture, 20, 20, "b"); /* with what was written before */
        mark(&fixture, 25, 20, "c");
        mark(&fixture, 26, 20, "d");
        mark(&fixture, 27, 20, "e"); /* crosses one in each lane */
        take(&fixture);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "marks 2"), 2);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "marks 3"), 2);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "marks 4"), 2);
        ck_assert(slice_list_is(&fixture.packets, "marks", 2, SLICE_INSTANT, "e", AT(27)));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_mark_without_a_duration_is_an_instant) {
        Fixture fixture;

        fixture_init(&fixture);
        mark(&fixture, 10, 0, "now");
        take(&fixture);
        ck_assert(slice_list_is(&fixture.packets, "marks", 0, SLICE_INSTANT, "now", AT(10)));
        fixture_deinit(&fixture);
}
END_TEST

/* GTK 4.8 has a mark in microseconds, with a duration of hours. */
START_TEST(test_times_that_cannot_be_are_passed_over) {
        const int64_t wrong[][2] = {
                { 990 * S / 1000, 87 * 60 * S }, { -1, 5 },       { 990 * S, -5 },
                { 990 * S, INT64_MAX },          { 1002 * S, 5 }, { 939 * S, 5 },
        };
        Fixture fixture;

        fixture_init(&fixture);
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
                capture_add_mark(
                        &fixture.maker, getpid(), wrong[i][0], wrong[i][1], "mapped window", "");
        take(&fixture);
        ck_assert_uint_eq(fixture.packets.n, 0);
        ck_assert_uint_eq(fixture.recorder.n_nonsense, ARRAY_SIZE(wrong));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_message_is_an_argument_and_addresses_are_cut) {
        WireReader event, argument;
        Fixture fixture;
        uint64_t at_ns;

        fixture_init(&fixture);
        capture_add_mark(&fixture.maker,
                         getpid(),
                         990 * S,
                         5,
                         "request",
                         "GET https://example.org/private?token=1234");
        take(&fixture);
        ck_assert(slice_list_event(&fixture.packets, "marks", 0, &event, &at_ns));
        ck_assert(message_has_text(event, 22, "group"));
        ck_assert(message_submessage(event, 4, 0, &argument));
        ck_assert(message_has_text(argument, 6, "GET https://example.org"));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_texts_end_where_their_fields_do) {
        CaptureFrame frame;
        CaptureMaker maker = {};
        CaptureMark read;

        capture_add_mark(&maker, 1, 1, 1, "0123456789012345678901234567890123456789xx", "\n\xff");
        memset(maker.data + 32, 'g', 24);
        ck_assert_int_eq(capture_frame_read(&frame, maker.data, maker.n), 0);
        ck_assert(capture_frame_mark(&frame, &read));
        ck_assert_uint_eq(strlen(read.group), 24);
        ck_assert_uint_eq(strlen(read.name), 40);
        ck_assert_str_eq(read.message, " ?");
}
END_TEST

/* A pid of nobody, so that counters are where the test finds them. */
static size_t count_values(const PacketList *packets) {
        WireReader event;
        size_t n = 0;

        for (size_t i = 0; packet_list_find(packets, PACKET_TRACK_EVENT, i, &event); i++)
                n += message_uint(event, 9) == 4;
        return n;
}

START_TEST(test_only_defined_counters_count) {
        const uint32_t ids[8] = { 5, 77, 5, 6 };
        const int64_t values[8] = { 50, 1, 2, 3 };
        Fixture fixture;

        fixture_init(&fixture);
        capture_add_values(&fixture.maker, 4, 990 * S, ids, values, 4);
        take(&fixture);
        ck_assert_uint_eq(count_values(&fixture.packets), 0);
        capture_add_counter(&fixture.maker, 4, 990 * S, 5, 0, "pixels");
        capture_add_counter(&fixture.maker, 4, 990 * S, 6, 1, "fps");
        capture_add_values(
                &fixture.maker, 4, 990 * S, ids, values, 4); /* the rest is what was there */
        take(&fixture);
        ck_assert_uint_eq(count_values(&fixture.packets), 1);
        ck_assert_uint_ne(slice_list_track(&fixture.packets, "pixels"), 0);
        ck_assert_uint_eq(slice_list_track(&fixture.packets, "fps"), 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_several_counters_of_a_slot_count_where_it_is_clean) {
        const uint32_t ids[8] = { 5, 6 };
        const double fps = 59.5;
        int64_t values[8] = { 50 };
        WireReader event;
        WireField field;
        Fixture fixture;
        bool is_found = false;

        memcpy(&values[1], &fps, sizeof(fps));
        fixture_init(&fixture);
        capture_add_counter(&fixture.maker, 4, 990 * S, 5, 0, "pixels");
        capture_add_counter(&fixture.maker, 4, 990 * S, 6, 1, "fps");
        capture_add_values(&fixture.maker, 4, 990 * S, ids, values, 2);
        take(&fixture);
        ck_assert_uint_eq(count_values(&fixture.packets), 2);
        for (size_t i = 0; packet_list_find(&fixture.packets, PACKET_TRACK_EVENT, i, &event); i++)
                is_found |= message_field(event, 44, 0, &field) &&
                            memcmp(&field.value, &fps, sizeof(fps)) == 0;
        ck_assert(is_found);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_nonsense_ends_a_look_and_not_the_stream) {
        Fixture fixture;

        fixture_init(&fixture);
        mark(&fixture, 10, 5, "before");
        capture_add(&fixture.maker, 10, 1, 1, 24)[0] = 23; /* its length */
        mark(&fixture, 20, 5, "behind");
        take(&fixture);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "marks"), 2);
        ck_assert_uint_eq(fixture.recorder.n_nonsense, 1);
        mark(&fixture, 30, 5, "later");
        take(&fixture);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "marks"), 4);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_frames_that_do_not_fit_are_nonsense) {
        uint8_t data[64] = { 64 };
        CaptureFrame frame;
        CaptureMark read;

        data[16] = 10;
        ck_assert_int_eq(capture_frame_read(&frame, data, 64), 0);
        ck_assert(!capture_frame_mark(&frame, &read));
        ck_assert_int_eq(capture_frame_read(&frame, data, 56), -EBADMSG);
        ck_assert_int_eq(capture_frame_read(&frame, data, 23), -EBADMSG);
        data[0] = 60;
        ck_assert_int_eq(capture_frame_read(&frame, data, 64), -EBADMSG);
        data[0] = 0;
        ck_assert_int_eq(capture_frame_read(&frame, data, 64), -EBADMSG);
}
END_TEST

START_TEST(test_limits_hold) {
        Fixture fixture;

        fixture_init(&fixture);
        for (uint64_t stream = 0; stream < 2 * CAPTURE_STREAMS_MAX; stream++) {
                fixture.maker.n = 0;
                mark(&fixture, 10, 5, "mark");
                capture_recorder_take(
                        &fixture.recorder, stream, fixture.maker.data, fixture.maker.n, 1000 * S);
        }
        for (uint32_t i = 0; i < 2 * CAPTURE_MARKS_MAX; i++)
                capture_recorder_take(
                        &fixture.recorder, 1, fixture.maker.data, fixture.maker.n, 1000 * S);
        ck_assert_uint_eq(fixture.recorder.n_streams, CAPTURE_STREAMS_MAX);
        ck_assert_uint_le(fixture.recorder.n_slices, CAPTURE_MARKS_MAX);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_stream_is_forgotten_at_its_end) {
        Fixture fixture;

        fixture_init(&fixture);
        mark(&fixture, 10, 5, "mark");
        capture_add(&fixture.maker, 255, getpid(), 990 * S, 24);
        mark(&fixture, 20, 5, "behind the end");
        take(&fixture);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "marks"), 4);
        ck_assert_uint_eq(fixture.recorder.n_streams, 0);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("bridges-sysprof-capture",
          test_marks_are_nested_whatever_their_order,
          test_marks_that_cross_are_on_other_tracks,
          test_mark_without_a_duration_is_an_instant,
          test_times_that_cannot_be_are_passed_over,
          test_message_is_an_argument_and_addresses_are_cut,
          test_texts_end_where_their_fields_do,
          test_only_defined_counters_count,
          test_several_counters_of_a_slot_count_where_it_is_clean,
          test_nonsense_ends_a_look_and_not_the_stream,
          test_frames_that_do_not_fit_are_nonsense,
          test_limits_hold,
          test_stream_is_forgotten_at_its_end)
