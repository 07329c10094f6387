/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../test.h"
#include "track-world.h"

#define CALLS_MAX 16

typedef struct Seen {
        pthread_mutex_t lock;
        unsigned n_calls;
        dt_recording what[CALLS_MAX];
        unsigned n_sessions[CALLS_MAX];
        bool was_enabled, was_recording;
        dt_observer *self;
} Seen;

static void seen_init(Seen *seen) {
        *seen = (Seen){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

static void on_recording(dt_recording what, unsigned n_sessions, void *userdata) {
        Seen *seen = userdata;

        DT_INSTANT(render, what == DT_RECORDING_STARTED ? "hello" : "bye");
        pthread_mutex_lock(&seen->lock);
        ck_assert_uint_lt(seen->n_calls, CALLS_MAX);
        seen->what[seen->n_calls] = what;
        seen->n_sessions[seen->n_calls++] = n_sessions;
        seen->was_enabled = dt_category_enabled(&render);
        seen->was_recording = dt_is_recording();
        pthread_mutex_unlock(&seen->lock);
}

static unsigned n_calls(Seen *seen) {
        unsigned n;

        pthread_mutex_lock(&seen->lock);
        n = seen->n_calls;
        pthread_mutex_unlock(&seen->lock);
        return n;
}

static void await_calls(Seen *seen, unsigned n) {
        for (unsigned i = 0; n_calls(seen) < n; i++) {
                ck_assert_uint_lt(i, 10000);
                usleep(1000);
        }
        ck_assert_uint_eq(n_calls(seen), n);
}

START_TEST(test_observers_are_told_of_each_start_and_end) {
        dt_observer *observer;
        World *world;
        Seen seen;

        seen_init(&seen);
        ck_assert_int_eq(dt_observer_add(&observer, on_recording, &seen), 0);
        ck_assert(!dt_is_recording());
        world = world_new();
        world_record(world, NULL, NULL);
        ck_assert_uint_eq(n_calls(&seen), 1); /* before the start is answered */
        ck_assert(seen.what[0] == DT_RECORDING_STARTED && seen.n_sessions[0] == 1);
        ck_assert(seen.was_enabled && seen.was_recording && dt_is_recording());
        world_record(world, NULL, NULL);
        ck_assert(seen.what[1] == DT_RECORDING_STARTED && seen.n_sessions[1] == 2);
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        ck_assert(seen.what[2] == DT_RECORDING_ENDS && seen.n_sessions[2] == 1);
        ck_assert_int_eq(fake_stop(&world->fake, 2), 0);
        ck_assert(seen.what[3] == DT_RECORDING_ENDS && seen.n_sessions[3] == 0);
        ck_assert(seen.was_enabled && !dt_is_recording());
        ck_assert_uint_eq(n_calls(&seen), 4);
        ck_assert_ptr_null(dt_observer_remove(observer));
        world_free(world);
}
END_TEST

START_TEST(test_what_an_observer_emits_is_recorded) {
        dt_observer *observer;
        World *world;
        Seen seen;

        seen_init(&seen);
        ck_assert_int_eq(dt_observer_add(&observer, on_recording, &seen), 0);
        world = world_new();
        world_record(world, NULL, NULL);
        DT_INSTANT(render, "between");
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        fake_drain(&world->fake);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "hello"), 1);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "between"), 1);
        ck_assert_uint_eq(trace_n_events(world->trace, INSTANT, "bye"), 1);
        dt_observer_remove(observer);
        world_free(world);
}
END_TEST

START_TEST(test_a_late_observer_is_told_what_there_is) {
        World *world = world_new();
        dt_observer *observer;
        Seen seen;

        seen_init(&seen);
        world_record(world, NULL, NULL);
        world_record(world, NULL, NULL);
        ck_assert_int_eq(dt_observer_add(&observer, on_recording, &seen), 0);
        await_calls(&seen, 1);
        ck_assert(seen.what[0] == DT_RECORDING_STARTED && seen.n_sessions[0] == 2);
        dt_observer_remove(observer);
        world_free(world);
}
END_TEST

START_TEST(test_the_end_of_the_service_is_an_end) {
        dt_observer *observer;
        World *world;
        Seen seen;

        seen_init(&seen);
        ck_assert_int_eq(dt_observer_add(&observer, on_recording, &seen), 0);
        world = world_new();
        world_record(world, NULL, NULL);
        fake_disconnect(&world->fake);
        await_calls(&seen, 2);
        ck_assert(seen.what[1] == DT_RECORDING_ENDS && seen.n_sessions[1] == 0);
        ck_assert(!dt_is_recording());
        dt_observer_remove(observer);
        world_free(world);
}
END_TEST

static void on_recording_once(dt_recording what, unsigned n_sessions, void *userdata) {
        Seen *seen = userdata;

        on_recording(what, n_sessions, seen);
        seen->self = dt_observer_remove(seen->self);
        ck_assert_int_eq(dt_observer_add(&seen->self, on_recording, seen), 0);
}

START_TEST(test_a_callback_may_remove_itself_and_add_another) {
        World *world;
        Seen seen;

        seen_init(&seen);
        ck_assert_int_eq(dt_observer_add(&seen.self, on_recording_once, &seen), 0);
        world = world_new();
        world_record(world, NULL, NULL);
        await_calls(&seen, 2); /* the other one, as there is a session */
        world_record(world, NULL, NULL);
        ck_assert_uint_eq(n_calls(&seen), 3);
        dt_observer_remove(seen.self);
        ck_assert_int_eq(fake_stop(&world->fake, 1), 0);
        ck_assert_uint_eq(n_calls(&seen), 3);
        world_free(world);
}
END_TEST

static void on_recording_slowly(dt_recording what, unsigned n_sessions, void *userdata) {
        atomic_bool *is_inside = userdata;

        atomic_store(is_inside, true);
        usleep(50000);
        atomic_store(is_inside, false);
}

static void *record(void *userdata) {
        world_record(userdata, NULL, NULL);
        return NULL;
}

START_TEST(test_a_removed_observer_is_not_called) {
        World *world = world_new();
        atomic_bool is_inside = false;
        dt_observer *observer;
        pthread_t thread;

        ck_assert_int_eq(dt_observer_add(&observer, on_recording_slowly, &is_inside), 0);
        ck_assert_int_eq(pthread_create(&thread, NULL, record, world), 0);
        while (!atomic_load(&is_inside))
                usleep(100);
        dt_observer_remove(observer);
        ck_assert(!atomic_load(&is_inside));
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        world_free(world);
}
END_TEST

START_TEST(test_a_forked_child_observes_nothing) {
        World *world = world_new();
        dt_observer *observer;
        int status;
        pid_t pid;

        world_record(world, NULL, NULL);
        pid = fork();
        if (pid == 0)
                _exit(dt_is_recording() ||
                      dt_observer_add(&observer, on_recording, NULL) != -ECANCELED);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
        ck_assert_int_eq(dt_observer_add(&observer, NULL, NULL), -EINVAL);
        ck_assert_ptr_null(dt_observer_remove(NULL));
        world_free(world);
}
END_TEST

TEST_MAIN("observer",
          test_observers_are_told_of_each_start_and_end,
          test_what_an_observer_emits_is_recorded,
          test_a_late_observer_is_told_what_there_is,
          test_the_end_of_the_service_is_an_end,
          test_a_callback_may_remove_itself_and_add_another,
          test_a_removed_observer_is_not_called,
          test_a_forked_child_observes_nothing)
