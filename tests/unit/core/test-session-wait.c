/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A suspended producer holds nobody up: 50 ms after the last answer of the others, the session goes on without it. */

#include "fixture.h"

#define EVENT_ALL_STARTED   1
#define EVENT_SLOW_STARTING 7
#define EVENT_SLOW_FLUSHING 8

static Fixture f;

typedef struct Reply {
        const Session *session;
        unsigned n;
        char silent[128];
} Reply;

static void on_done(void *userdata, int outcome) {
        Reply *reply = userdata;

        ck_assert_int_eq(outcome, 0);
        reply->n++;
        fake_silent(reply->session, reply->silent, sizeof(reply->silent));
}

static void ask(FakeConsumer *consumer, Reply *reply) {
        *reply = (Reply){ .session = consumer->session };
        ck_assert_int_eq(session_flush(consumer->session, 0, 0, on_done, reply, f.now), 0);
}

static const char *state_of(const FakeConsumer *consumer, const char *producer) {
        InstanceCursor cursor = {};
        InstanceInfo info;

        while (session_next_instance(consumer->session, &cursor, &info)) {
                if (!streq(info.producer, producer))
                        continue;
                if (info.state == INSTANCE_STOPPED && info.why[0])
                        return info.why;
                return info.is_suspended ? "suspended" : instance_state_name(info.state);
        }
        return "none";
}

/* Two producers in one session; "asleep" is about to be suspended. */
static FakeConsumer *start_two(FakeProducer **ret_app, FakeProducer **ret_asleep) {
        fixture_init(&f);
        *ret_app = fixture_connect_producer(&f, 1000, "app", "track_event");
        *ret_asleep = fixture_connect_producer(&f, 1000, "asleep", "track_event");
        return fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
}

START_TEST(test_flush_does_not_wait_for_a_suspended_producer) {
        FakeProducer *app, *asleep;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Reply reply;
        Bytes trace;

        consumer = start_two(&app, &asleep);
        writer = fake_writer_new(asleep, fake_instance(asleep, "track_event"));
        fake_write_unfinished(writer, "before it was stopped");
        asleep->is_suspended = true;
        app->acks_flush = false;
        ask(consumer, &reply);
        fixture_advance(&f, 30 * MS);
        producer_flushed(app->producer, app->flush_id, f.now);
        fixture_advance(&f, 50 * MS - 1);
        ck_assert_uint_eq(reply.n, 0);
        fixture_advance(&f, 1);
        ck_assert_uint_eq(reply.n, 1);
        ck_assert_str_eq(reply.silent, "track_event@asleep ");
        ck_assert_str_eq(state_of(consumer, "asleep"), "suspended");
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "before it was stopped"), 1);
        ck_assert(trace_has_event(&trace, EVENT_SLOW_FLUSHING, NULL));
        bytes_deinit(&trace);

        asleep->is_suspended = false;
        app->acks_flush = true;
        fixture_settle(&f);
        ck_assert_str_eq(state_of(consumer, "asleep"), "started");
        ask(consumer, &reply);
        fixture_settle(&f);
        ck_assert_uint_eq(reply.n, 1);
        ck_assert_str_eq(reply.silent, "");
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_slow_producer_has_until_the_deadline) {
        FakeProducer *app, *slow;
        FakeConsumer *consumer;
        Reply reply;

        consumer = start_two(&app, &slow);
        slow->acks_flush = false;
        ask(consumer, &reply);
        fixture_advance(&f, 4 * S);
        ck_assert_uint_eq(reply.n, 0);
        ck_assert_uint_ge(f.n_looks, 50);
        ck_assert_uint_le(f.n_looks, 4 * S / SESSION_GRACE_NS);
        producer_flushed(slow->producer, slow->flush_id, f.now);
        ck_assert_uint_eq(reply.n, 1);
        ck_assert_str_eq(reply.silent, "");
        fixture_advance(&f, 10 * S);
        ck_assert_uint_le(f.n_looks, 4 * S / SESSION_GRACE_NS);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_producer_that_is_suspended_while_it_is_awaited_is_seen) {
        FakeProducer *app, *slow;
        FakeConsumer *consumer;
        Reply reply;

        consumer = start_two(&app, &slow);
        slow->acks_flush = false;
        ask(consumer, &reply);
        fixture_advance(&f, 1 * S + 10 * MS);
        ck_assert_uint_eq(reply.n, 0);
        slow->is_suspended = true;
        fixture_advance(&f, 50 * MS);
        ck_assert_uint_eq(reply.n, 1);
        ck_assert_str_eq(reply.silent, "track_event@asleep ");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_suspended_producer_that_goes_on_in_time_is_not_silent) {
        FakeProducer *app, *asleep;
        FakeConsumer *consumer;
        Reply reply;

        consumer = start_two(&app, &asleep);
        asleep->is_suspended = true;
        app->acks_flush = false;
        ask(consumer, &reply);
        fixture_advance(&f, 200 * MS);
        ck_assert_uint_eq(reply.n, 0);
        asleep->is_suspended = false;
        fixture_settle(&f);
        producer_flushed(app->producer, app->flush_id, f.now);
        ck_assert_uint_eq(reply.n, 1);
        ck_assert_str_eq(reply.silent, "");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_start_does_not_wait_for_a_suspended_producer) {
        FakeProducer *asleep;
        FakeConsumer *consumer;
        Bytes trace;

        fixture_init(&f);
        fixture_connect_producer(&f, 1000, "app", "track_event");
        asleep = fixture_connect_producer(&f, 1000, "asleep", "track_event");
        asleep->is_suspended = true;
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTING);
        fixture_advance(&f, 50 * MS);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        ck_assert_str_eq(state_of(consumer, "asleep"), "suspended");
        trace = fixture_read(&f, consumer);
        ck_assert(trace_has_event(&trace, EVENT_SLOW_STARTING, NULL));
        ck_assert(!trace_has_event(&trace, EVENT_ALL_STARTED, NULL));
        bytes_deinit(&trace);

        /* It starts when it goes on. */
        asleep->is_suspended = false;
        fixture_settle(&f);
        ck_assert_str_eq(state_of(consumer, "asleep"), "started");
        trace = fixture_read(&f, consumer);
        ck_assert(trace_has_event(&trace, EVENT_ALL_STARTED, NULL));
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stop_does_not_wait_for_a_suspended_producer) {
        FakeProducer *app, *asleep;
        FakeConsumer *consumer;
        char silent[128] = "";
        SmbWriter *writer;
        Bytes trace;

        consumer = start_two(&app, &asleep);
        writer = fake_writer_new(asleep, fake_instance(asleep, "track_event"));
        fake_write_unfinished(writer, "before it was stopped");
        asleep->is_suspended = true;
        session_stop(consumer->session, "requested", f.now);
        fixture_advance(&f, 50 * MS); /* the flush; for the stop it needs no second look */
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_str_eq(state_of(consumer, "asleep"),
                         "its program is suspended, and did not stop");
        fake_silent(consumer->session, silent, sizeof(silent));
        ck_assert_str_eq(silent, "track_event@asleep ");
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "before it was stopped"), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_producer_that_is_suspended_between_flush_and_stop_holds_nobody) {
        FakeProducer *app, *asleep;
        FakeConsumer *consumer;
        char silent[128] = "";

        consumer = start_two(&app, &asleep);
        asleep->acks_stop = false;
        session_stop(consumer->session, "requested", f.now);
        fixture_settle(&f);
        asleep->is_suspended = true;
        fixture_advance(&f, 50 * MS - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPING);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fake_silent(consumer->session, silent, sizeof(silent));
        ck_assert_str_eq(silent, "track_event@asleep ");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_producer_that_goes_on_after_the_stop_writes_into_nothing) {
        FakeProducer *app, *asleep;
        FakeConsumer *consumer, *next;
        FakeInstance *old;
        SmbWriter *writer;
        Bytes trace;

        consumer = start_two(&app, &asleep);
        old = fake_instance(asleep, "track_event");
        writer = fake_writer_new(asleep, old);
        asleep->is_suspended = true;
        session_stop(consumer->session, "requested", f.now);
        fixture_advance(&f, 100 * MS);
        fixture_free_session(consumer);
        next = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        fixture_advance(&f, 50 * MS);

        asleep->is_suspended = false;
        ck_assert(old->stop_asked);
        fake_write(writer, "of the session that is gone");
        fixture_settle(&f);
        producer_doorbell(asleep->producer, f.now);
        ck_assert_str_eq(state_of(next, "asleep"), "started");
        fixture_stop_session(&f, next);
        trace = fixture_read(&f, next);
        ck_assert_uint_eq(trace_count_text(&trace, "of the session that is gone"), 0);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-wait",
          test_flush_does_not_wait_for_a_suspended_producer,
          test_slow_producer_has_until_the_deadline,
          test_producer_that_is_suspended_while_it_is_awaited_is_seen,
          test_suspended_producer_that_goes_on_in_time_is_not_silent,
          test_start_does_not_wait_for_a_suspended_producer,
          test_stop_does_not_wait_for_a_suspended_producer,
          test_producer_that_is_suspended_between_flush_and_stop_holds_nobody,
          test_producer_that_goes_on_after_the_stop_writes_into_nothing)
