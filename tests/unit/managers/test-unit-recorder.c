/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "test.h"

#include "managers/unit-recorder.h"
#include "slice-list.h"

typedef struct Fixture {
        PacketList list;
        PacketWriter packets;
        TrackWriter tracks;
        UnitRecorder recorder;
} Fixture;

static Fixture fixture;

static void setup(uint64_t start_us) {
        fixture = (Fixture){ .list = PACKET_LIST_INIT };
        packet_writer_init(&fixture.packets, &fixture.list.sink);
        track_writer_init(&fixture.tracks, &fixture.packets, "test");
        fixture.tracks.clock_id = 3;
        unit_recorder_init(&fixture.recorder, &fixture.tracks, "systemd");
        fixture.recorder.start_us = start_us;
}

static void teardown(void) {
        unit_recorder_deinit(&fixture.recorder);
        track_writer_deinit(&fixture.tracks);
        packet_writer_deinit(&fixture.packets);
        packet_list_deinit(&fixture.list);
}

static Unit *unit(const char *name) {
        return unit_recorder_unit(&fixture.recorder, name);
}

static void change(const char *name, UnitTimes times) {
        unit_recorder_change(&fixture.recorder, unit(name), &times);
}

static void after(const char *name, const char *other) {
        if (!unit(name)->knows_after)
                unit_begin_after(unit(name));
        unit_add_after(unit(name), other);
}

static void write_all(void) {
        unit_recorder_write_all(&fixture.recorder);
}

static bool begins(const char *track, size_t i, const char *name, uint64_t at_us) {
        return slice_list_is(&fixture.list, track, i, SLICE_BEGIN, name, at_us);
}

static bool ends(const char *track, size_t i, uint64_t at_us) {
        return slice_list_is(&fixture.list, track, i, SLICE_END, NULL, at_us);
}

static size_t count(const char *track) {
        return slice_list_count(&fixture.list, track);
}

START_TEST(test_phases_of_a_unit_are_slices_at_the_managers_times) {
        WireReader packet;

        setup(0);
        change("a.service",
               (UnitTimes){ .inactive_exit_us = 10, .active_enter_us = 20, .phase = UNIT_ACTIVE });
        change("a.service", (UnitTimes){ 10, 20, 30, 40, .change_us = 40, .phase = UNIT_INACTIVE });
        write_all();
        ck_assert_uint_eq(count("a.service"), 6);
        ck_assert(begins("a.service", 0, "activating", 10));
        ck_assert(ends("a.service", 1, 20));
        ck_assert(begins("a.service", 2, "active", 20));
        ck_assert(begins("a.service", 4, "deactivating", 30));
        ck_assert(ends("a.service", 5, 40));
        wire_reader_init(&packet, fixture.list.packets[2].data, fixture.list.packets[2].n);
        ck_assert_uint_eq(message_uint(packet, PACKET_TIMESTAMP_CLOCK_ID), 3);
        teardown();
}
END_TEST

START_TEST(test_phases_of_no_length_are_left_out) {
        setup(0);
        change("a.target", (UnitTimes){ 10, 10, 0, 0, .phase = UNIT_ACTIVE });
        write_all();
        ck_assert_uint_eq(count("a.target"), 1);
        ck_assert(begins("a.target", 0, "active", 10));
        teardown();
}
END_TEST

START_TEST(test_what_is_told_twice_is_shown_once) {
        const UnitTimes times = { 10, 20, 0, 0, .change_us = 20, .phase = UNIT_ACTIVE };

        setup(0);
        change("a.service", times);
        write_all();
        change("a.service", times);
        write_all();
        ck_assert_uint_eq(count("a.service"), 3);
        teardown();
}
END_TEST

START_TEST(test_the_phase_is_the_managers_where_times_do_not_tell) {
        setup(0);
        change("a.service", (UnitTimes){ 10, 20, 0, 0, .change_us = 20, .phase = UNIT_ACTIVE });
        change("a.service", (UnitTimes){ 10, 20, 0, 0, .change_us = 50, .phase = UNIT_RELOADING });
        change("a.service", (UnitTimes){ 10, 20, 0, 0, .change_us = 60, .phase = UNIT_ACTIVE });
        write_all();
        ck_assert(begins("a.service", 4, "reloading", 50));
        ck_assert(begins("a.service", 6, "active", 60));
        teardown();
}
END_TEST

START_TEST(test_a_unit_that_fails_to_start_was_never_active) {
        setup(0);
        /* It was active the time before that. */
        change("a.service", (UnitTimes){ 10, 20, 30, 40, .phase = UNIT_INACTIVE });
        change("a.service", (UnitTimes){ 50, 20, 30, 60, .change_us = 60, .phase = UNIT_FAILED });
        write_all();
        ck_assert(begins("a.service", 6, "activating", 50));
        ck_assert(ends("a.service", 7, 60));
        ck_assert(slice_list_is(&fixture.list, "a.service", 8, SLICE_INSTANT, "failed", 60));
        ck_assert_uint_eq(count("a.service"), 9);
        teardown();
}
END_TEST

START_TEST(test_a_recording_begins_with_the_phase_that_lasts) {
        setup(100);
        change("old.service", (UnitTimes){ 10, 20, 30, 40, .phase = UNIT_INACTIVE });
        change("on.service", (UnitTimes){ 10, 20, 150, 160, .phase = UNIT_INACTIVE });
        write_all();
        ck_assert_uint_eq(slice_list_track(&fixture.list, "old.service"), 0);
        ck_assert(begins("on.service", 0, "active", 100));
        ck_assert(ends("on.service", 1, 150));
        ck_assert_uint_eq(count("on.service"), 4);
        teardown();
}
END_TEST

START_TEST(test_an_arrow_comes_from_what_was_waited_for) {
        setup(0);
        after("last.service", "early.service");
        after("last.service", "late.service");
        after("last.service", "never.service");
        /* Told of in another order than it happened. */
        change("last.service", (UnitTimes){ 41, 50, 0, 0, .phase = UNIT_ACTIVE });
        change("late.service", (UnitTimes){ 10, 40, 0, 0, .phase = UNIT_ACTIVE });
        change("early.service", (UnitTimes){ 10, 20, 0, 0, .phase = UNIT_ACTIVE });
        change("other.service", (UnitTimes){ 10, 41, 0, 0, .phase = UNIT_ACTIVE });
        write_all();
        ck_assert(slice_list_has_arrow(&fixture.list, "late.service", 2, "last.service", 0));
        ck_assert(!slice_list_has_arrow(&fixture.list, "early.service", 2, "last.service", 0));
        ck_assert(!slice_list_has_arrow(&fixture.list, "other.service", 2, "last.service", 0));
        teardown();
}
END_TEST

START_TEST(test_a_manager_with_a_job_is_waited_for_until_it_is_done) {
        setup(0);
        after("b.service", "once.service");
        change("once.service", (UnitTimes){ 10, 0, 0, 40, .phase = UNIT_INACTIVE });
        change("b.service", (UnitTimes){ 41, 50, 0, 0, .phase = UNIT_ACTIVE });
        write_all();
        ck_assert(begins("once.service", 2, "done", 40));
        ck_assert(slice_list_has_arrow(&fixture.list, "once.service", 2, "b.service", 0));
        teardown();
}
END_TEST

START_TEST(test_nothing_was_waited_for_before_it_was_wanted) {
        setup(0);
        after("b.service", "a.service");
        change("a.service", (UnitTimes){ 10, 20, 0, 0, .phase = UNIT_ACTIVE });
        unit_recorder_add_job(&fixture.recorder, 1, unit("b.service"), "start", 30);
        change("b.service", (UnitTimes){ 40, 50, 0, 0, .phase = UNIT_ACTIVE });
        write_all();
        ck_assert(!slice_list_has_arrow(&fixture.list, "a.service", 2, "b.service", 0));
        after("c.service", "a.service");
        change("c.service",
               (UnitTimes){ 21 + UNIT_WAITED_US_MAX, 0, 0, 0, .phase = UNIT_ACTIVATING });
        write_all();
        ck_assert(!slice_list_has_arrow(&fixture.list, "a.service", 2, "c.service", 0));
        teardown();
}
END_TEST

START_TEST(test_phases_settle_before_they_are_written) {
        setup(0);
        after("b.service", "a.service");
        change("b.service", (UnitTimes){ 50, 0, 0, 0, .phase = UNIT_ACTIVATING });
        unit_recorder_write(&fixture.recorder, 60);
        ck_assert_uint_eq(count("b.service"), 0);
        change("a.service", (UnitTimes){ 10, 49, 0, 0, .phase = UNIT_ACTIVE });
        unit_recorder_write(&fixture.recorder, 60 + UNIT_SETTLE_US);
        ck_assert(slice_list_has_arrow(&fixture.list, "a.service", 2, "b.service", 0));
        teardown();
}
END_TEST

START_TEST(test_a_job_is_a_slice_with_its_wait) {
        setup(0);
        unit_recorder_add_job(&fixture.recorder, 7, unit("a.service"), NULL, 10);
        unit_recorder_set_job_type(&fixture.recorder, 7, "start");
        unit_recorder_run_job(&fixture.recorder, 7, 25);
        unit_recorder_run_job(&fixture.recorder, 7, 26);
        unit_recorder_end_job(&fixture.recorder, 7, "done", 40);
        unit_recorder_end_job(&fixture.recorder, 8, "done", 41);
        ck_assert_uint_eq(count("jobs"), 4);
        ck_assert(begins("jobs", 0, "start", 10));
        ck_assert(begins("jobs", 1, "waiting", 10));
        ck_assert(ends("jobs", 2, 25));
        ck_assert(ends("jobs", 3, 40));
        teardown();
}
END_TEST

START_TEST(test_a_job_that_never_ran_has_waited_all_the_time) {
        setup(0);
        unit_recorder_add_job(&fixture.recorder, 7, unit("a.service"), "start", 10);
        unit_recorder_end_job(&fixture.recorder, 7, "dependency", 40);
        ck_assert(begins("jobs", 1, "waiting", 10));
        ck_assert(ends("jobs", 2, 40));
        unit_recorder_add_job(&fixture.recorder, 9, unit("a.service"), "stop", 50);
        unit_recorder_finish(&fixture.recorder);
        ck_assert(begins("jobs", 4, "stop", 50));
        ck_assert_uint_eq(fixture.recorder.n_jobs, 0);
        teardown();
}
END_TEST

START_TEST(test_names_are_cut_and_kept_on_one_line) {
        char name[4096] = "\x1b[31mred\n<0>line\xff";

        setup(0);
        change(name, (UnitTimes){ 10, 20, 0, 0, .phase = UNIT_ACTIVE });
        for (size_t i = 0; i < sizeof(name) - 1; i++)
                name[i] = 'x';
        change(name, (UnitTimes){ 10, 20, 0, 0, .phase = UNIT_ACTIVE });
        name[UNIT_NAME_BYTES_MAX] = '\0';
        write_all();
        ck_assert_uint_ne(slice_list_track(&fixture.list, name), 0);
        for (size_t i = 0; i < fixture.list.n; i++) {
                const Bytes *packet = &fixture.list.packets[i];

                ck_assert(!memmem(packet->data, packet->n, "\x1b[31m", 5));
                ck_assert(!memmem(packet->data, packet->n, "line\xff", 5));
        }
        teardown();
}
END_TEST

START_TEST(test_only_units_that_are_asked_for_are_recorded) {
        char *patterns[] = { (char *)"ssh*.service" };

        setup(0);
        fixture.recorder.patterns = patterns;
        fixture.recorder.n_patterns = 1;
        ck_assert_ptr_nonnull(unit("sshd.service"));
        ck_assert_ptr_null(unit("dbus.service"));
        teardown();
}
END_TEST

START_TEST(test_units_and_jobs_are_limited) {
        char name[64];

        setup(0);
        for (int i = 0; i < UNITS_MAX; i++) {
                snprintf(name, sizeof(name), "run-%d.scope", i);
                ck_assert_ptr_nonnull(unit(name));
        }
        ck_assert_ptr_null(unit("one.more"));
        ck_assert_uint_eq(fixture.recorder.units.n_refused, 1);
        for (uint32_t i = 0; i <= UNIT_JOBS_MAX; i++)
                unit_recorder_add_job(&fixture.recorder, i, unit("run-1.scope"), "start", 1);
        ck_assert_uint_eq(fixture.recorder.n_jobs_refused, 1);
        teardown();
}
END_TEST

START_TEST(test_removed_units_make_room_when_they_are_written) {
        setup(0);
        change("run-1.scope", (UnitTimes){ 10, 20, 30, 40, .phase = UNIT_INACTIVE });
        unit_recorder_remove(&fixture.recorder, "run-1.scope");
        unit_recorder_write(&fixture.recorder, 50);
        ck_assert_uint_eq(fixture.recorder.units.n_units, 1);
        unit_recorder_write(&fixture.recorder, 50 + UNIT_SETTLE_US);
        ck_assert_uint_eq(fixture.recorder.units.n_units, 0);
        ck_assert_uint_eq(count("run-1.scope"), 6);
        teardown();
}
END_TEST

START_TEST(test_a_flood_of_changes_is_written_rather_than_kept) {
        setup(0);
        for (uint64_t i = 1; i <= UNIT_EVENTS_MAX + 1; i++)
                change("flap.service",
                       (UnitTimes){ .change_us = i,
                                    .phase = i % 2 ? UNIT_ACTIVE : UNIT_RELOADING });
        ck_assert_uint_le(fixture.recorder.n_events, UNIT_EVENTS_MAX);
        ck_assert_uint_gt(fixture.list.n, UNIT_EVENTS_MAX);
        teardown();
}
END_TEST

TEST_MAIN("managers-unit-recorder",
          test_phases_of_a_unit_are_slices_at_the_managers_times,
          test_phases_of_no_length_are_left_out,
          test_what_is_told_twice_is_shown_once,
          test_the_phase_is_the_managers_where_times_do_not_tell,
          test_a_unit_that_fails_to_start_was_never_active,
          test_a_recording_begins_with_the_phase_that_lasts,
          test_an_arrow_comes_from_what_was_waited_for,
          test_a_manager_with_a_job_is_waited_for_until_it_is_done,
          test_nothing_was_waited_for_before_it_was_wanted,
          test_phases_settle_before_they_are_written,
          test_a_job_is_a_slice_with_its_wait,
          test_a_job_that_never_ran_has_waited_all_the_time,
          test_names_are_cut_and_kept_on_one_line,
          test_only_units_that_are_asked_for_are_recorded,
          test_units_and_jobs_are_limited,
          test_removed_units_make_room_when_they_are_written,
          test_a_flood_of_changes_is_written_rather_than_kept)
