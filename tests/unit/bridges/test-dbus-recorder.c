/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From messages to slices and arrows. */

#include "bridges/dbus/bus-recorder.h"
#include "managers/slice-list.h"
#include "test.h"

typedef struct Fixture {
        PacketList packets;
        PacketWriter writer;
        TrackWriter tracks;
        BusRecorder recorder;
        uint64_t now_us;
} Fixture;

static void fixture_init(Fixture *fixture) {
        *fixture = (Fixture){ .packets = PACKET_LIST_INIT };
        packet_writer_init(&fixture->writer, &fixture->packets.sink);
        track_writer_init(&fixture->tracks, &fixture->writer, "org.freedesktop.dbus");
        bus_recorder_init(&fixture->recorder, &fixture->tracks);
}

static void fixture_deinit(Fixture *fixture) {
        bus_recorder_deinit(&fixture->recorder);
        track_writer_deinit(&fixture->tracks);
        packet_writer_deinit(&fixture->writer);
        packet_list_deinit(&fixture->packets);
}

static void write_fields(Fixture *fixture, FrameFields fields) {
        const char **texts[] = { &fields.path,  &fields.interface,   &fields.member,
                                 &fields.error, &fields.destination, &fields.sender };
        Traffic traffic;

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
                *texts[i] = *texts[i] ?: "";
        traffic = (Traffic){ TRAFFIC_MESSAGE, ++fixture->now_us * 1000, 100, fields };
        bus_recorder_meet(&fixture->recorder, &traffic);
        bus_recorder_write(&fixture->recorder, &traffic);
}

static void
write_call(Fixture *fixture, uint32_t serial, const char *from, const char *to, uint8_t flags) {
        write_fields(fixture,
                     (FrameFields){ .type = FRAME_METHOD_CALL,
                                    .flags = flags,
                                    .serial = serial,
                                    .path = "/p",
                                    .interface = "org.a.B",
                                    .member = "Ping",
                                    .destination = to,
                                    .sender = from });
}

static void write_answer(Fixture *fixture,
                         uint32_t serial,
                         const char *from,
                         const char *to,
                         const char *error) {
        write_fields(fixture,
                     (FrameFields){ .type = error ? FRAME_ERROR : FRAME_METHOD_RETURN,
                                    .serial = 99,
                                    .reply_serial = serial,
                                    .error = error,
                                    .destination = to,
                                    .sender = from });
}

static void write_owner(Fixture *fixture, const char *name, const char *owner) {
        const Traffic traffic = {
                TRAFFIC_OWNER,
                ++fixture->now_us * 1000,
                0,
                { .path = name, .sender = owner },
        };

        bus_recorder_meet(&fixture->recorder, &traffic);
        bus_recorder_write(&fixture->recorder, &traffic);
}

/* Under the only connection that calls, "calls"; under the only one that is called, "served". */
START_TEST(test_call_is_a_slice_of_both_with_an_arrow) {
        Fixture fixture;

        fixture_init(&fixture);
        write_owner(&fixture, "x.y", ":1.3");
        write_owner(&fixture, ":1.3", ":1.3");
        write_call(&fixture, 7, ":1.2", "x.y", 0);
        write_answer(&fixture, 7, ":1.3", ":1.2", NULL);
        ck_assert(slice_list_is(&fixture.packets, "calls", 0, SLICE_BEGIN, "org.a.B.Ping", 3));
        ck_assert(slice_list_is(&fixture.packets, "calls", 1, SLICE_END, NULL, 4));
        ck_assert(slice_list_is(&fixture.packets, "served", 0, SLICE_BEGIN, "org.a.B.Ping", 3));
        ck_assert(slice_list_is(&fixture.packets, "served", 1, SLICE_END, NULL, 4));
        ck_assert(slice_list_has_arrow(&fixture.packets, "calls", 0, "served", 0));
        ck_assert_uint_ne(slice_list_track(&fixture.packets, "D-Bus :1.2"), 0);
        ck_assert_uint_ne(slice_list_track(&fixture.packets, "D-Bus :1.3"), 0);
        ck_assert_uint_eq(fixture.recorder.n_calls, 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_connection_is_below_its_process) {
        Fixture fixture;
        WireReader track;
        BusPeer *peer;

        fixture_init(&fixture);
        peer = bus_peers_get(&fixture.recorder.peers, ":1.2");
        peer->pid = 42;
        peer->process_uuid = 4242;
        strcpy(peer->process, "shell");
        write_call(&fixture, 7, ":1.2", ":1.3", 0);
        ck_assert(packet_list_find(&fixture.packets, PACKET_TRACK_DESCRIPTOR, 0, &track));
        ck_assert_uint_eq(message_uint(track, 1), 4242);
        ck_assert(packet_list_find(&fixture.packets, PACKET_TRACK_DESCRIPTOR, 1, &track));
        ck_assert(message_has_text(track, 2, "D-Bus :1.2"));
        ck_assert_uint_eq(message_uint(track, 5), 4242);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_calls_at_once_have_lanes_of_their_own) {
        Fixture fixture;

        fixture_init(&fixture);
        write_call(&fixture, 1, ":1.2", ":1.3", 0);
        write_call(&fixture, 2, ":1.2", ":1.3", 0);
        write_answer(&fixture, 1, ":1.3", ":1.2", NULL);
        write_call(&fixture, 3, ":1.2", ":1.3", 0); /* takes the first again */
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "calls"), 3);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "calls 2"), 1);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "served 2"), 1);
        for (uint32_t serial = 10; serial < 100; serial++)
                write_call(&fixture, serial, ":1.2", ":1.3", 0);
        ck_assert_uint_eq(fixture.recorder.n_calls, BUS_LANES_MAX);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "calls without answers"),
                          90 - (BUS_LANES_MAX - 2));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_error_is_told_at_the_end) {
        WireReader event, argument;
        Fixture fixture;
        uint64_t at_ns;

        fixture_init(&fixture);
        write_call(&fixture, 7, ":1.2", ":1.3", 0);
        write_answer(&fixture, 7, ":1.3", ":1.2", "org.a.Error.Broken");
        ck_assert(slice_list_event(&fixture.packets, "calls", 1, &event, &at_ns));
        ck_assert(message_submessage(event, 4, 0, &argument));
        ck_assert(message_has_text(argument, 10, "error"));
        ck_assert(message_has_text(argument, 6, "org.a.Error.Broken"));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_only_the_answer_to_a_call_ends_it) {
        Fixture fixture;

        fixture_init(&fixture);
        write_call(&fixture, 7, ":1.2", ":1.3", 0);
        write_answer(&fixture, 8, ":1.3", ":1.2", NULL);
        write_answer(&fixture, 7, ":1.3", ":1.4", NULL);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "calls"), 1);
        ck_assert_uint_eq(fixture.recorder.n_calls, 1);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_calls_end_when_a_side_leaves) {
        Fixture fixture;

        fixture_init(&fixture);
        write_call(&fixture, 7, ":1.2", ":1.3", 0);
        write_owner(&fixture, ":1.3", "");
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "calls"), 2);
        write_call(&fixture, 8, ":1.2", ":1.4", 0);
        write_owner(&fixture, ":1.2", "");
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "calls"), 4);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "served"), 2);
        ck_assert_uint_eq(fixture.recorder.n_calls, 0);
        fixture_deinit(&fixture);
}
END_TEST

/* Only the bus could send such messages. A name goes without ending the calls of a connection. */
START_TEST(test_a_name_neither_calls_nor_is_called) {
        Fixture fixture;

        fixture_init(&fixture);
        write_owner(&fixture, "a.b", ":1.3");
        write_call(&fixture, 7, "a.b", ":1.3", 0); /* the sender is a name */
        write_owner(&fixture, "a.b", "");
        write_answer(&fixture, 7, ":1.3", "a.b", NULL);
        write_owner(&fixture, "c.d", ":1.3");
        write_owner(&fixture, "x.y", "c.d"); /* the owner is a name */
        write_call(&fixture, 8, ":1.2", "x.y", 0);
        write_owner(&fixture, "c.d", "");
        write_answer(&fixture, 8, ":1.3", ":1.2", NULL);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "calls"), 2);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "served"), 0);
        ck_assert_uint_eq(fixture.recorder.n_calls, 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_instants_are_signals_and_calls_without_answers) {
        Fixture fixture;

        fixture_init(&fixture);
        write_call(&fixture, 7, ":1.2", ":1.3", FRAME_NO_REPLY_EXPECTED);
        write_fields(&fixture,
                     (FrameFields){ .type = FRAME_SIGNAL,
                                    .path = "/p",
                                    .interface = "org.a.B",
                                    .member = "Changed",
                                    .sender = ":1.2" });
        ck_assert(slice_list_is(
                &fixture.packets, "calls without answers", 0, SLICE_INSTANT, "org.a.B.Ping", 1));
        ck_assert(
                slice_list_is(&fixture.packets, "signals", 0, SLICE_INSTANT, "org.a.B.Changed", 2));
        ck_assert_uint_eq(fixture.recorder.n_calls, 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_own_messages_are_left_out) {
        Fixture fixture;

        fixture_init(&fixture);
        strcpy(fixture.recorder.own_name, ":1.2");
        write_call(&fixture, 7, ":1.2", ":1.3", 0);
        write_answer(&fixture, 7, ":1.3", ":1.2", NULL);
        ck_assert_uint_eq(fixture.packets.n, 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_limits_hold) {
        Fixture fixture;
        char name[32];

        fixture_init(&fixture);
        for (uint32_t i = 0; i < 2 * BUS_PEERS_MAX; i++) {
                snprintf(name, sizeof(name), ":1.%u", i);
                for (uint32_t serial = 1; serial < 4; serial++)
                        write_call(&fixture, serial, name, "x.y", 0);
        }
        ck_assert_uint_eq(fixture.recorder.peers.n, BUS_PEERS_MAX);
        ck_assert_uint_eq(fixture.recorder.n_calls, BUS_CALLS_MAX);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_each_name_is_asked_about_once) {
        Fixture fixture;
        BusPeer *peer;

        fixture_init(&fixture);
        write_call(&fixture, 7, ":1.2", ":1.3", 0);
        write_call(&fixture, 8, ":1.2", ":1.3", 0);
        peer = bus_peers_next_question(&fixture.recorder.peers);
        ck_assert_str_eq(peer->name, ":1.2");
        bus_peers_put_back(&fixture.recorder.peers, peer);
        ck_assert_str_eq(bus_peers_next_question(&fixture.recorder.peers)->name, ":1.3");
        ck_assert_str_eq(bus_peers_next_question(&fixture.recorder.peers)->name, ":1.2");
        ck_assert_ptr_null(bus_peers_next_question(&fixture.recorder.peers));
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("bridges-dbus-recorder",
          test_call_is_a_slice_of_both_with_an_arrow,
          test_connection_is_below_its_process,
          test_calls_at_once_have_lanes_of_their_own,
          test_error_is_told_at_the_end,
          test_only_the_answer_to_a_call_ends_it,
          test_calls_end_when_a_side_leaves,
          test_a_name_neither_calls_nor_is_called,
          test_instants_are_signals_and_calls_without_answers,
          test_own_messages_are_left_out,
          test_limits_hold,
          test_each_name_is_asked_about_once)
