/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>

#include "test.h"

#include "host/track-writer.h"
#include "packet-list.h"

typedef struct Fixture {
        PacketList list;
        PacketWriter packets;
        TrackWriter tracks;
} Fixture;

static Fixture fixture;

static void setup(void) {
        fixture = (Fixture){ .list = PACKET_LIST_INIT };
        packet_writer_init(&fixture.packets, &fixture.list.sink);
        track_writer_init(&fixture.tracks, &fixture.packets, "linux.test");
}

static void teardown(void) {
        track_writer_deinit(&fixture.tracks);
        packet_writer_deinit(&fixture.packets);
        packet_list_deinit(&fixture.list);
}

/* One sample of a counter in a group. */
static void sample(uint64_t now_ns, int64_t value) {
        uint64_t group = track_group(&fixture.tracks, 0, "a group");

        track_count(&fixture.tracks,
                    track_counter(&fixture.tracks, group, "a counter", TRACK_UNIT_BYTES),
                    now_ns,
                    value);
}

static WireReader payload(size_t i, uint32_t number) {
        WireReader message = {};

        ck_assert_msg(packet_list_payload(&fixture.list, i, number, &message), "packet %zu", i);
        return message;
}

static uint64_t flags(size_t i) {
        WireReader packet;

        wire_reader_init(&packet, fixture.list.packets[i].data, fixture.list.packets[i].n);
        return message_uint(packet, PACKET_SEQUENCE_FLAGS);
}

START_TEST(test_a_track_is_described_once_with_its_parent_and_unit) {
        WireReader group, counter, unit, event;

        setup();
        sample(10, 7);
        sample(20, 8);
        ck_assert_uint_eq(fixture.list.n, 4);
        group = payload(0, PACKET_TRACK_DESCRIPTOR);
        counter = payload(1, PACKET_TRACK_DESCRIPTOR);
        ck_assert(message_has_text(group, 2, "a group"));
        ck_assert_uint_eq(message_count(group, 8), 0);
        ck_assert(message_has_text(counter, 2, "a counter"));
        ck_assert_uint_eq(message_uint(counter, 5), message_uint(group, 1));
        ck_assert(message_submessage(counter, 8, 0, &unit));
        ck_assert_uint_eq(message_uint(unit, 3), TRACK_UNIT_BYTES);
        event = payload(3, PACKET_TRACK_EVENT);
        ck_assert_uint_eq(message_uint(event, 11), message_uint(counter, 1));
        ck_assert_uint_eq(message_uint(event, 30), 8);
        ck_assert_uint_eq(flags(0), PACKET_STATE_CLEARED);
        for (size_t i = 1; i < 4; i++)
                ck_assert_uint_eq(flags(i), PACKET_NEEDS_STATE);
        teardown();
}
END_TEST

START_TEST(test_a_group_and_a_counter_of_one_name_are_two_tracks) {
        uint64_t group, counter;

        setup();
        group = track_group(&fixture.tracks, 0, "memory");
        counter = track_counter(&fixture.tracks, 0, "memory", TRACK_UNIT_BYTES);
        ck_assert_uint_ne(group, counter);
        ck_assert_uint_eq(fixture.list.n, 2);
        teardown();
}
END_TEST

START_TEST(test_a_value_is_written_when_it_changes) {
        setup();
        sample(10, 7);
        sample(20, 7);
        ck_assert_uint_eq(fixture.list.n, 3);
        sample(30, -7);
        ck_assert_uint_eq(fixture.list.n, 4);
        ck_assert_int_eq((int64_t)message_uint(payload(3, PACKET_TRACK_EVENT), 30), -7);
        teardown();
}
END_TEST

START_TEST(test_all_is_said_again_after_a_clear_and_after_a_loss) {
        setup();
        sample(10, 7);
        track_writer_clear(&fixture.tracks);
        sample(20, 7);
        ck_assert_uint_eq(fixture.list.n, 6);
        ck_assert_uint_eq(flags(3), PACKET_STATE_CLEARED);
        fixture.list.refuses = true;
        sample(30, 9);
        fixture.list.refuses = false;
        sample(40, 9);
        ck_assert_uint_eq(fixture.list.n, 9);
        ck_assert_uint_eq(flags(6), PACKET_STATE_CLEARED);
        ck_assert_uint_eq(message_uint(payload(8, PACKET_TRACK_EVENT), 30), 9);
        teardown();
}
END_TEST

START_TEST(test_there_is_a_limit_of_tracks) {
        char name[32];

        setup();
        for (size_t i = 0; i < TRACKS_MAX + 3; i++) {
                snprintf(name, sizeof(name), "track %zu", i);
                track_counter(&fixture.tracks, 0, name, TRACK_UNIT_NONE);
        }
        ck_assert_uint_eq(fixture.tracks.n_tracks, TRACKS_MAX);
        ck_assert_uint_eq(fixture.tracks.n_refused, 3);
        ck_assert_uint_eq(fixture.list.n, TRACKS_MAX);
        teardown();
}
END_TEST

START_TEST(test_sources_with_equal_names_have_tracks_of_their_own) {
        TrackWriter other;
        uint64_t track;

        setup();
        track_writer_init(&other, &fixture.packets, "linux.other");
        track = track_counter(&other, 0, "same", TRACK_UNIT_NONE);
        ck_assert_uint_ne(track, track_counter(&fixture.tracks, 0, "same", TRACK_UNIT_NONE));
        track_writer_deinit(&other);
        teardown();
}
END_TEST

START_TEST(test_a_slice_is_its_begin_with_the_name_and_its_end) {
        WireReader begin, end;
        uint64_t track;

        setup();
        track = track_group(&fixture.tracks, 0, "a track");
        track_slice(&fixture.tracks, track, 10, 30, "a slice");
        track_slice(&fixture.tracks, 0, 10, 30, "on no track");
        ck_assert_uint_eq(fixture.list.n, 3);
        begin = payload(1, PACKET_TRACK_EVENT);
        end = payload(2, PACKET_TRACK_EVENT);
        ck_assert_uint_eq(message_uint(begin, 9), 1);
        ck_assert_uint_eq(message_uint(end, 9), 2);
        ck_assert(message_has_text(begin, 23, "a slice"));
        for (size_t i = 1; i < 3; i++) {
                WireReader packet;

                wire_reader_init(&packet, fixture.list.packets[i].data, fixture.list.packets[i].n);
                ck_assert_uint_eq(message_uint(packet, PACKET_TIMESTAMP), i == 1 ? 10 : 30);
                ck_assert_uint_eq(message_uint(payload(i, PACKET_TRACK_EVENT), 11), track);
        }
        teardown();
}
END_TEST

START_TEST(test_a_process_has_the_number_that_it_gives_itself) {
        const TrackArgument argument = { .name = "count", .number = -3 };
        TrackEvent event = { .type = TRACK_EVENT_INSTANT,
                             .at_ns = 10,
                             .name = "here",
                             .category = "toys",
                             .arguments = &argument,
                             .n_arguments = 1 };
        WireReader descriptor, process, written, argued;

        setup();
        ck_assert(!track_event(&fixture.tracks, &event));
        event.track = track_process(&fixture.tracks, 1234, 77, "toy");
        ck_assert_uint_eq(event.track, 1234);
        ck_assert_uint_eq(track_process(&fixture.tracks, 1234, 77, "toy"), 1234);
        ck_assert(track_event(&fixture.tracks, &event));
        ck_assert_uint_eq(fixture.list.n, 2);
        descriptor = payload(0, PACKET_TRACK_DESCRIPTOR);
        ck_assert_uint_eq(message_uint(descriptor, 1), 1234);
        ck_assert(message_submessage(descriptor, 3, 0, &process));
        ck_assert_uint_eq(message_uint(process, 1), 77);
        ck_assert(message_has_text(process, 6, "toy"));
        written = payload(1, PACKET_TRACK_EVENT);
        ck_assert(message_has_text(written, 22, "toys"));
        ck_assert(message_submessage(written, 4, 0, &argued));
        ck_assert_int_eq((int64_t)message_uint(argued, 4), -3);
        teardown();
}
END_TEST

TEST_MAIN("track-writer",
          test_a_track_is_described_once_with_its_parent_and_unit,
          test_a_group_and_a_counter_of_one_name_are_two_tracks,
          test_a_value_is_written_when_it_changes,
          test_all_is_said_again_after_a_clear_and_after_a_loss,
          test_there_is_a_limit_of_tracks,
          test_sources_with_equal_names_have_tracks_of_their_own,
          test_a_slice_is_its_begin_with_the_name_and_its_end,
          test_a_process_has_the_number_that_it_gives_itself)
