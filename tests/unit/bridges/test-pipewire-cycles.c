/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* From what PipeWire's profiler says to slices, arrows and counters. */

#include <unistd.h>

#include "bridges/pipewire/cycle-recorder.h"
#include "managers/slice-list.h"
#include "pod-maker.h"
#include "test.h"

#define US     INT64_C(1000)
#define NOW    (INT64_C(1000000000) * 1000)
#define AT(us) (UINT64_C(999000000) + (us))

enum { DRIVER = 30, PLAYER = 41, PLAYERS_CLIENT = 40, FACTORY = 18 };

typedef struct Fixture {
        PacketList packets;
        PacketWriter writer;
        TrackWriter tracks;
        CycleRecorder recorder;
        PodMaker maker;
        size_t event, cycle; /* that are open */
} Fixture;

static void fixture_init(Fixture *fixture) {
        fixture->packets = (PacketList)PACKET_LIST_INIT;
        fixture->maker.n = 0;
        packet_writer_init(&fixture->writer, &fixture->packets.sink);
        track_writer_init(&fixture->tracks, &fixture->writer, "org.pipewire.profiler");
        ck_assert_int_eq(cycle_recorder_init(&fixture->recorder, &fixture->tracks), 0);
        fixture->event = pod_open(&fixture->maker, POD_STRUCT);
}

static void fixture_deinit(Fixture *fixture) {
        cycle_recorder_deinit(&fixture->recorder);
        track_writer_deinit(&fixture->tracks);
        packet_writer_deinit(&fixture->writer);
        packet_list_deinit(&fixture->packets);
}

static void begin_cycle(Fixture *fixture, int64_t number, int32_t n_xruns) {
        fixture->cycle = pod_open_cycle(&fixture->maker);
        pod_add_info(&fixture->maker, number, 0.25f, n_xruns);
}

static void end_cycle(Fixture *fixture) {
        pod_close(&fixture->maker, fixture->cycle);
}

/* Times are in µs. */
static void add_node(Fixture *fixture,
                     bool is_driver,
                     int32_t id,
                     const char *name,
                     int64_t signal,
                     int64_t awake,
                     int64_t finish,
                     int32_t status) {
        const int64_t times_ns[] = { ((int64_t)AT(0) + signal) * US,
                                     ((int64_t)AT(0) + awake) * US,
                                     ((int64_t)AT(0) + finish) * US };

        pod_add_node(&fixture->maker, is_driver ? 0x10003 : 0x20001, id, name, times_ns, status);
}

/* Of an event that was made; the next one begins. */
static int64_t take(Fixture *fixture) {
        int64_t last_ns;

        pod_close(&fixture->maker, fixture->event);
        last_ns =
                cycle_recorder_take(&fixture->recorder, fixture->maker.data, fixture->maker.n, NOW);
        fixture->maker.n = 0;
        fixture->event = pod_open(&fixture->maker, POD_STRUCT);
        return last_ns;
}

/* A driver of 50 µs, and a player within. */
static void add_cycle(Fixture *fixture, int64_t number, int64_t at) {
        begin_cycle(fixture, number, 0);
        add_node(fixture, true, DRIVER, "sink", at, at + 40, at + 50, PROFILE_FINISHED);
        add_node(fixture, false, PLAYER, "player", at + 5, at + 10, at + 30, PROFILE_FINISHED);
        end_cycle(fixture);
}

START_TEST(test_nodes_wait_and_are_busy_in_a_cycle) {
        Fixture fixture;

        fixture_init(&fixture);
        add_cycle(&fixture, 1, 100);
        add_cycle(&fixture, 2, 200);
        ck_assert_int_eq(take(&fixture), (int64_t)AT(200) * US);
        ck_assert(slice_list_is(&fixture.packets, "cycles", 0, SLICE_BEGIN, "cycle", AT(100)));
        ck_assert(slice_list_is(&fixture.packets, "cycles", 1, SLICE_END, NULL, AT(150)));
        ck_assert(slice_list_is(&fixture.packets, "cycles", 2, SLICE_BEGIN, "cycle", AT(200)));
        ck_assert(
                slice_list_is(&fixture.packets, "player (41)", 0, SLICE_BEGIN, "waiting", AT(105)));
        ck_assert(slice_list_is(&fixture.packets, "player (41)", 1, SLICE_END, NULL, AT(110)));
        ck_assert(slice_list_is(&fixture.packets, "player (41)", 2, SLICE_BEGIN, "busy", AT(110)));
        ck_assert(slice_list_is(&fixture.packets, "player (41)", 3, SLICE_END, NULL, AT(130)));
        ck_assert(slice_list_is(&fixture.packets, "sink (30)", 2, SLICE_BEGIN, "busy", AT(140)));
        ck_assert(slice_list_has_arrow(&fixture.packets, "cycles", 0, "player (41)", 0));
        ck_assert(slice_list_has_arrow(&fixture.packets, "cycles", 2, "player (41)", 4));
        ck_assert_uint_eq(fixture.recorder.n_nonsense, 0);
        fixture_deinit(&fixture);
}
END_TEST

static void set_player(Fixture *fixture, uint32_t factory, bool is_device) {
        NodeTable *nodes = &fixture->recorder.nodes;
        NodeObject *node;

        node_table_set(nodes, FACTORY, NODE_FACTORY);
        node_table_set(nodes, PLAYERS_CLIENT, NODE_CLIENT)->pid = getpid();
        node = node_table_set(nodes, PLAYER, NODE_NODE);
        node->client = PLAYERS_CLIENT;
        node->factory = factory;
        node->is_device = is_device;
}

START_TEST(test_programs_node_is_below_its_process) {
        Fixture fixture;

        fixture_init(&fixture);
        set_player(&fixture, 8, false);
        add_cycle(&fixture, 1, 100);
        take(&fixture);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "PipeWire player (41)"), 4);
        ck_assert_uint_ne(slice_list_track(&fixture.packets, "sink (30)"), 0);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_node_that_pipewire_made_for_somebody_is_its_own) {
        Fixture fixture;

        fixture_init(&fixture);
        set_player(&fixture, FACTORY, false);
        ck_assert_int_eq(node_table_pid(&fixture.recorder.nodes, PLAYER), 0);
        set_player(&fixture, 8, true);
        ck_assert_int_eq(node_table_pid(&fixture.recorder.nodes, PLAYER), 0);
        set_player(&fixture, 8, false);
        ck_assert_int_eq(node_table_pid(&fixture.recorder.nodes, PLAYER), getpid());
        node_table_set(&fixture.recorder.nodes, PLAYERS_CLIENT, NODE_NONE);
        ck_assert_int_eq(node_table_pid(&fixture.recorder.nodes, PLAYER), 0);
        ck_assert_ptr_null(node_table_set(&fixture.recorder.nodes, NODE_TABLE_MAX, NODE_NODE));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_node_that_did_not_finish_is_not_in_time) {
        Fixture fixture;

        fixture_init(&fixture);
        begin_cycle(&fixture, 1, 0);
        add_node(&fixture, true, DRIVER, "sink", 100, 140, 150, PROFILE_FINISHED);
        add_node(&fixture, false, 1, "asleep", 105, 10, 30, PROFILE_TRIGGERED);
        add_node(&fixture, false, 2, "slow", 105, 120, 30, PROFILE_AWAKE);
        add_node(&fixture, false, 3, "idle", 50, 60, 70, PROFILE_NOT_TRIGGERED);
        end_cycle(&fixture);
        take(&fixture);
        ck_assert(slice_list_is(
                &fixture.packets, "asleep (1)", 0, SLICE_INSTANT, "not in time", AT(105)));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "asleep (1)"), 1);
        ck_assert(slice_list_is(
                &fixture.packets, "slow (2)", 0, SLICE_INSTANT, "not in time", AT(105)));
        ck_assert(slice_list_is(&fixture.packets, "slow (2)", 1, SLICE_BEGIN, "waiting", AT(105)));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "slow (2)"), 3);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_node_that_was_not_signalled_again_is_not_drawn_again) {
        Fixture fixture;

        fixture_init(&fixture);
        add_cycle(&fixture, 1, 100);
        begin_cycle(&fixture, 2, 0);
        add_node(&fixture, true, DRIVER, "sink", 200, 240, 250, PROFILE_FINISHED);
        add_node(&fixture, false, PLAYER, "player", 105, 110, 130, PROFILE_FINISHED);
        end_cycle(&fixture);
        take(&fixture);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "player (41)"), 4);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "sink (30)"), 8);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_deadline_that_was_missed_is_told) {
        Fixture fixture;

        fixture_init(&fixture);
        begin_cycle(&fixture, 1, 0);
        pod_add_clock(&fixture.maker, (int64_t)AT(99) * US, (int64_t)AT(120) * US);
        add_node(&fixture, true, DRIVER, "sink", 100, 140, 150, PROFILE_FINISHED);
        end_cycle(&fixture);
        begin_cycle(&fixture, 2, 0);
        pod_add_clock(&fixture.maker, (int64_t)AT(199) * US, (int64_t)AT(299) * US);
        add_node(&fixture, true, DRIVER, "sink", 200, 240, 250, PROFILE_FINISHED);
        end_cycle(&fixture);
        take(&fixture);
        ck_assert(slice_list_is(
                &fixture.packets, "cycles", 1, SLICE_INSTANT, "deadline missed", AT(120)));
        ck_assert(slice_list_is(&fixture.packets, "cycles", 2, SLICE_END, NULL, AT(150)));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "cycles"), 5);
        fixture_deinit(&fixture);
}
END_TEST

/* They may not overlap on one track. */
START_TEST(test_cycle_that_lasts_into_the_next_shortens_it) {
        Fixture fixture;

        fixture_init(&fixture);
        begin_cycle(&fixture, 1, 0);
        add_node(&fixture, true, DRIVER, "sink", 100, 140, 150, PROFILE_FINISHED);
        add_node(&fixture, false, PLAYER, "player", 105, 110, 220, PROFILE_FINISHED);
        end_cycle(&fixture);
        begin_cycle(&fixture, 2, 0);
        add_node(&fixture, true, DRIVER, "sink", 200, 240, 250, PROFILE_FINISHED);
        end_cycle(&fixture);
        take(&fixture);
        ck_assert(slice_list_is(&fixture.packets, "cycles", 1, SLICE_END, NULL, AT(220)));
        ck_assert(slice_list_is(&fixture.packets, "cycles", 2, SLICE_BEGIN, "cycle", AT(220)));
        ck_assert(slice_list_is(&fixture.packets, "cycles", 3, SLICE_END, NULL, AT(250)));
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_xruns_and_lost_cycles_are_told) {
        Fixture fixture;

        fixture_init(&fixture);
        for (int64_t i = 0; i < 4; i++) {
                begin_cycle(&fixture, i < 3 ? i : 10, i < 1 ? 5 : 7);
                add_node(&fixture,
                         true,
                         DRIVER,
                         "sink",
                         100 * (i + 1),
                         100 * i + 110,
                         100 * i + 120,
                         PROFILE_FINISHED);
                end_cycle(&fixture);
        }
        take(&fixture);
        /* Waiting and busy are four events of each cycle; these come before those of theirs. */
        ck_assert(slice_list_is(&fixture.packets, "sink (30)", 4, SLICE_INSTANT, "xrun", AT(200)));
        ck_assert(slice_list_is(&fixture.packets, "sink (30)", 13, SLICE_INSTANT, "lost", AT(400)));
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "sink (30)"), 18);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_numbers_may_be_of_all_drivers_together) {
        Fixture fixture;

        fixture_init(&fixture);
        for (int64_t i = 0; i < 6; i++) {
                begin_cycle(&fixture, i, 0);
                add_node(&fixture,
                         true,
                         i % 2 ? 1 : 2,
                         "sink",
                         100 * (i + 1),
                         100 * i + 110,
                         100 * i + 120,
                         PROFILE_FINISHED);
                end_cycle(&fixture);
        }
        take(&fixture);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "sink (1)"), 12);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "sink (2)"), 12);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_what_begins_after_the_end_is_not_written) {
        Fixture fixture;

        fixture_init(&fixture);
        fixture.recorder.until_ns = (int64_t)AT(150) * US;
        add_cycle(&fixture, 1, 100);
        add_cycle(&fixture, 2, 200);
        ck_assert_int_eq(take(&fixture), (int64_t)AT(200) * US);
        ck_assert_uint_eq(slice_list_count(&fixture.packets, "cycles"), 2);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_times_that_cannot_be_are_passed_over) {
        Fixture fixture;

        fixture_init(&fixture);
        begin_cycle(&fixture, 1, 0);
        add_node(&fixture, true, DRIVER, "long ago", -20000000, 0, 0, PROFILE_FINISHED);
        end_cycle(&fixture);
        begin_cycle(&fixture, 2, 0);
        add_node(&fixture, true, DRIVER, "not yet", 9000000, 9000001, 9000002, PROFILE_FINISHED);
        end_cycle(&fixture);
        begin_cycle(&fixture, 3, 0);
        add_node(
                &fixture, true, DRIVER, "ends never", 100, 110, INT64_C(1) << 52, PROFILE_FINISHED);
        end_cycle(&fixture);
        begin_cycle(&fixture, 4, 0);
        add_node(&fixture, true, -1, "no number", 100, 110, 120, PROFILE_FINISHED);
        end_cycle(&fixture);
        ck_assert_int_eq(take(&fixture), 0);
        ck_assert_uint_eq(fixture.packets.n, 0);
        ck_assert_uint_eq(fixture.recorder.n_nonsense, 4);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_names_are_cut_and_shown_on_one_line) {
        char name[200] = "a\nb\xff\x01";
        Fixture fixture;

        fixture_init(&fixture);
        memset(name + 5, 'x', sizeof(name) - 6);
        begin_cycle(&fixture, 1, 0);
        add_node(&fixture, true, 1, "a\nb\xff\x01", 100, 140, 150, PROFILE_FINISHED);
        add_node(&fixture, false, 2, name, 100, 140, 150, PROFILE_FINISHED);
        end_cycle(&fixture);
        take(&fixture);
        ck_assert_uint_ne(slice_list_track(&fixture.packets, "a b?  (1)"), 0);
        ck_assert_uint_eq(strlen(fixture.recorder.cycle.followers[0].name), PROFILE_NAME_BYTES - 1);
        fixture_deinit(&fixture);
}
END_TEST

START_TEST(test_more_followers_than_a_cycle_has_are_counted) {
        Fixture fixture;

        fixture_init(&fixture);
        begin_cycle(&fixture, 1, 0);
        add_node(&fixture, true, DRIVER, "sink", 100, 140, 150, PROFILE_FINISHED);
        for (int32_t id = 100; id < 100 + PROFILE_FOLLOWERS_MAX + 3; id++)
                add_node(&fixture, false, id, "n", 105, 110, 120, PROFILE_FINISHED);
        end_cycle(&fixture);
        take(&fixture);
        ck_assert_uint_eq(fixture.recorder.cycle.n_followers, PROFILE_FOLLOWERS_MAX);
        ck_assert_uint_eq(fixture.recorder.cycle.n_left_out, 3);
        ck_assert_uint_eq(fixture.recorder.n_arrows, CYCLE_ARROWS_MAX);
        ck_assert(slice_list_is(
                &fixture.packets, "sink (30)", 4, SLICE_INSTANT, "left out", AT(100)));
        fixture_deinit(&fixture);
}
END_TEST

/* Whatever is cut off: nothing outside is read, which sanitizers see, and what was whole is there. */
START_TEST(test_what_is_cut_anywhere_is_read_until_there) {
        Fixture fixture;
        size_t n;

        fixture_init(&fixture);
        add_cycle(&fixture, 1, 100);
        pod_close(&fixture.maker, fixture.event);
        n = fixture.maker.n;
        for (size_t i = 0; i < n; i++) {
                uint8_t *copy = memcpy(malloc(i + 1), fixture.maker.data, i);

                (void)cycle_recorder_take(&fixture.recorder, copy, i, NOW);
                free(copy);
        }
        ck_assert_uint_eq(fixture.packets.n, 0);
        ck_assert_uint_eq(fixture.recorder.n_nonsense, n);
        fixture_deinit(&fixture);
}
END_TEST

TEST_MAIN("bridges-pipewire-cycles",
          test_nodes_wait_and_are_busy_in_a_cycle,
          test_programs_node_is_below_its_process,
          test_node_that_pipewire_made_for_somebody_is_its_own,
          test_node_that_did_not_finish_is_not_in_time,
          test_node_that_was_not_signalled_again_is_not_drawn_again,
          test_deadline_that_was_missed_is_told,
          test_cycle_that_lasts_into_the_next_shortens_it,
          test_xruns_and_lost_cycles_are_told,
          test_numbers_may_be_of_all_drivers_together,
          test_what_begins_after_the_end_is_not_written,
          test_times_that_cannot_be_are_passed_over,
          test_names_are_cut_and_shown_on_one_line,
          test_more_followers_than_a_cycle_has_are_counted,
          test_what_is_cut_anywhere_is_read_until_there)
