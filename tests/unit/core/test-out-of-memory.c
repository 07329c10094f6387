/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Out of memory at each place in turn: whatever of a session, a start or a clone cannot be made is taken back, nothing
 * stays charged, and the service goes on. A leak is for the sanitizers to find.
 */

#include "tight-world.h"

/* Each source knows how many programs record for it, also when one of them could not join. */
static void assert_counts(const Session *session) {
        size_t n = 0;

        for (size_t i = 0; i < session->n_sources; i++)
                n += session->sources[i].n_instances;
        ck_assert_uint_eq(n, session->n_instances);
}

static void make_at_each_place(uid_t uid) {
        unsigned n_failed = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                Config *config = config_new();
                Session *session = NULL;
                Held before;
                int r;

                start();
                before = held_now();
                arm(i);
                r = try_session(&session, config, uid);
                has_ended = !disarm();
                ck_assert_msg(r <= 0, "%s", error.message);
                if (r == 0) {
                        assert_counts(session);
                        session_free(session);
                        before.n_charged[QUOTA_RECENT_SESSIONS] =
                                held_now().n_charged[QUOTA_RECENT_SESSIONS];
                } else {
                        ck_assert_int_eq(r, -ENOMEM);
                        ck_assert_ptr_null(session);
                        config_free(config);
                        n_failed++;
                }
                assert_held(&before);
                assert_goes_on();
                fixture_deinit(&f);
        }
        ck_assert_uint_gt(n_failed, 20);
}

START_TEST(test_session_that_cannot_be_made_leaves_nothing_behind) {
        make_at_each_place(1000);
}
END_TEST

START_TEST(test_first_thing_of_a_user_that_cannot_be_made_leaves_nothing_behind) {
        make_at_each_place(1001);
}
END_TEST

/* The program reports that its sources have started, and the service does what is due then. */
static void answer_start(FakeProducer *app) {
        for (size_t i = 0; i < app->n_to_start; i++)
                producer_source_started(app->producer, app->to_start[i], f.now);
        app->n_to_start = 0;
        service_tick(f.service, f.now);
}

START_TEST(test_start_goes_on_with_what_there_is) {
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                Session *session;
                FakeProducer *app = start();
                Held before = held_now();
                int r;

                ck_assert_int_eq(try_session(&session, config_new(), 1000), 0);
                arm(i);
                r = session_start(session, f.now);
                answer_start(app);
                has_ended = !disarm();
                ck_assert_int_eq(r, 0);
                fixture_settle(&f);
                ck_assert_int_eq(session_state(session), SESSION_STARTED);
                session_stop(session, "requested", f.now);
                fixture_settle(&f);
                ck_assert_int_eq(session_state(session), SESSION_STOPPED);
                session_free(session);
                before.n_charged[QUOTA_RECENT_SESSIONS]++;
                assert_held(&before);
                assert_goes_on();
                fixture_deinit(&f);
        }
}
END_TEST

static void on_flushed(void *userdata, int outcome) {
        ++*(unsigned *)userdata;
}

START_TEST(test_flush_is_refused_or_answered_once) {
        unsigned n_failed = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                unsigned n_replies = 0;
                Session *session;
                Held before;
                int r;

                start();
                ck_assert_int_eq(try_session(&session, config_new(), 1000), 0);
                ck_assert_int_eq(session_start(session, f.now), 0);
                fixture_settle(&f);
                before = held_now();
                arm(i);
                r = session_flush(session, 0, 0, on_flushed, &n_replies, f.now);
                has_ended = !disarm();
                fixture_settle(&f);
                ck_assert_int_eq(r, has_ended ? 0 : -ENOMEM);
                ck_assert_uint_eq(n_replies, r == 0);
                n_failed += r != 0;
                assert_held(&before);
                session_free(session);
                fixture_deinit(&f);
        }
        ck_assert_uint_gt(n_failed, 2);
}
END_TEST

typedef struct Reply {
        unsigned n;
        int outcome;
        Session *clone;
} Reply;

static void on_cloned(void *userdata, int outcome, Session *clone) {
        Reply *reply = userdata;

        reply->n++;
        reply->outcome = outcome;
        reply->clone = clone;
        if (clone)
                session_adopt(clone, &ops, NULL);
}

/* Of a session that records, whose clone waits for a flush; or that has stopped. */
static void clone_at_each_place(bool is_stopped) {
        const CloneOptions options = { .owner = { .uid = 1000 }, .name = "clone" };
        unsigned n_failed = 0;
        bool has_ended = false;

        for (unsigned i = 0; !has_ended; i++) {
                Reply reply = {};
                Session *session;
                FakeProducer *app = start();
                size_t n_told;
                Held before;
                int r;

                ck_assert_int_eq(try_session(&session, config_new(), 1000), 0);
                ck_assert_int_eq(session_start(session, f.now), 0);
                fixture_settle(&f);
                assert_goes_on(); /* so that there is something to be told of another session */
                ck_assert_uint_gt(session->concurrent.packets.n, 0);
                if (is_stopped)
                        session_stop(session, "requested", f.now);
                fixture_settle(&f);
                before = held_now();
                n_told = session->concurrent.packets.n;

                arm(i);
                r = session_clone(session, &options, on_cloned, &reply, &error, f.now);
                for (uint64_t n = 2; r == 0 && !is_stopped && n > 0; n--) /* groups of buffers */
                        producer_flushed(app->producer, app->to_flush + 1 - n, f.now);
                has_ended = !disarm();
                app->to_flush = 0;
                fixture_settle(&f);
                ck_assert_uint_eq(reply.n, r == 0);
                ck_assert(r == 0 || r == -ENOMEM);
                ck_assert(reply.outcome == 0 || reply.outcome == -ENOMEM);
                n_failed += r != 0 || reply.outcome != 0;
                if (reply.clone)
                        ck_assert_uint_eq(reply.clone->concurrent.packets.n, n_told);
                session_free(reply.clone);
                assert_held(&before);
                ck_assert_int_eq(session_state(session),
                                 is_stopped ? SESSION_STOPPED : SESSION_STARTED);
                assert_goes_on();
                session_free(session);
                fixture_deinit(&f);
        }
        ck_assert_uint_gt(n_failed, 4);
}

START_TEST(test_clone_of_a_running_session_comes_whole_or_not_at_all) {
        clone_at_each_place(false);
}
END_TEST

START_TEST(test_clone_of_a_stopped_session_comes_whole_or_not_at_all) {
        clone_at_each_place(true);
}
END_TEST

TEST_MAIN("out-of-memory",
          test_session_that_cannot_be_made_leaves_nothing_behind,
          test_first_thing_of_a_user_that_cannot_be_made_leaves_nothing_behind,
          test_start_goes_on_with_what_there_is,
          test_flush_is_refused_or_answered_once,
          test_clone_of_a_running_session_comes_whole_or_not_at_all,
          test_clone_of_a_stopped_session_comes_whole_or_not_at_all)
