/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "test.h"

#include "managers/login-recorder.h"
#include "slice-list.h"

#define ALICE "session 2 of alice on seat0 (user, wayland)"

static PacketList list;
static PacketWriter packets;
static TrackWriter tracks;
static LoginRecorder recorder;

static void setup(void) {
        list = (PacketList)PACKET_LIST_INIT;
        packet_writer_init(&packets, &list.sink);
        track_writer_init(&tracks, &packets, "test");
        login_recorder_init(&recorder, &tracks);
}

static void teardown(void) {
        track_writer_deinit(&tracks);
        packet_writer_deinit(&packets);
        packet_list_deinit(&list);
}

static void log_in(const char *id, const char *user) {
        const LoginDetails details = {
                .user = user,
                .seat = "seat0",
                .type = "wayland",
                .class = "user",
                .state = { .is_active = true },
        };

        login_recorder_add(&recorder, id, &details, 10000);
}

static bool begins(const char *track, size_t i, const char *name, uint64_t at_us) {
        return slice_list_is(&list, track, i, SLICE_BEGIN, name, at_us);
}

START_TEST(test_a_session_has_a_slice_for_each_state) {
        LoginState state = { .is_active = true, .is_locked = true };

        setup();
        log_in("2", "alice");
        login_recorder_change(&recorder, "2", &state, 20000);
        login_recorder_change(&recorder, "2", &state, 25000); /* the same */
        state = (LoginState){ .is_idle = true };
        login_recorder_change(&recorder, "2", &state, 30000);
        login_recorder_remove(&recorder, "2", 40000);
        login_recorder_remove(&recorder, "2", 41000);
        ck_assert(begins(ALICE, 0, "active", 10));
        ck_assert(begins(ALICE, 2, "active, locked", 20));
        ck_assert(begins(ALICE, 4, "in the background, idle", 30));
        ck_assert(slice_list_is(&list, ALICE, 5, SLICE_END, NULL, 40));
        ck_assert_uint_eq(slice_list_count(&list, ALICE), 6);
        teardown();
}
END_TEST

START_TEST(test_sleep_is_a_slice_that_begins_and_ends_once) {
        setup();
        login_recorder_sleep(&recorder, false, 5000);
        login_recorder_sleep(&recorder, true, 10000);
        login_recorder_sleep(&recorder, true, 11000);
        login_recorder_sleep(&recorder, false, 20000);
        login_recorder_event(&recorder, "seat added", "seat1", 30000);
        ck_assert(begins("Machine", 0, "sleep", 10));
        ck_assert(slice_list_is(&list, "Machine", 1, SLICE_END, NULL, 20));
        ck_assert(slice_list_is(&list, "Machine", 2, SLICE_INSTANT, "seat added", 30));
        teardown();
}
END_TEST

START_TEST(test_names_are_cut_and_kept_on_one_line) {
        char name[4096];

        setup();
        memset(name, '\n', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        log_in(name, name);
        login_recorder_event(&recorder, "seat added", name, 1);
        for (size_t i = 0; i < list.n; i++)
                ck_assert(!memmem(list.packets[i].data, list.packets[i].n, "\n\n", 2));
        teardown();
}
END_TEST

START_TEST(test_sessions_are_limited) {
        char id[32];

        setup();
        for (int i = 0; i <= LOGIN_SESSIONS_MAX; i++) {
                snprintf(id, sizeof(id), "c%d", i);
                log_in(id, "alice");
        }
        ck_assert_uint_eq(recorder.n_sessions, LOGIN_SESSIONS_MAX);
        ck_assert_uint_eq(recorder.n_refused, 1);
        teardown();
}
END_TEST

TEST_MAIN("managers-login-recorder",
          test_a_session_has_a_slice_for_each_state,
          test_sleep_is_a_slice_that_begins_and_ends_once,
          test_names_are_cut_and_kept_on_one_line,
          test_sessions_are_limited)
