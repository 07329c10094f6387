/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Flushes: exactly one reply, by answers, by the deadline, or because the session is gone. */

#include "fixture.h"

static Fixture f;

typedef struct Reply {
        const Session *session;
        unsigned n;
        int outcome;
        char silent[128];
} Reply;

static void on_done(void *userdata, int outcome) {
        Reply *reply = userdata;

        reply->n++;
        reply->outcome = outcome;
        reply->silent[0] = 0;
        if (reply->session)
                fake_silent(reply->session, reply->silent, sizeof(reply->silent));
}

static FakeConsumer *start(FakeProducer **ret_app) {
        fixture_init(&f);
        *ret_app = fixture_connect_producer(&f, 1000, "app", "track_event");
        (*ret_app)->acks_flush = false;
        return fixture_start_session(&f, 1000, CONFIG_ONE("track_event") "flush_timeout_ms: 2000");
}

static void ask(FakeConsumer *consumer, uint64_t timeout_ns, Reply *reply) {
        *reply = (Reply){ .session = consumer->session };
        ck_assert_int_eq(session_flush(consumer->session, timeout_ns, 4, on_done, reply, f.now), 0);
}

START_TEST(test_flush_is_answered_when_all_producers_have) {
        FakeProducer *app, *other;
        FakeConsumer *consumer;
        Reply reply;

        consumer = start(&app);
        other = fixture_connect_producer(&f, 1000, "other", "track_event");
        other->acks_flush = false;
        ask(consumer, 0, &reply);
        ck_assert_uint_eq(app->flush_flags, 4);
        producer_flushed(app->producer, app->flush_id, f.now);
        producer_flushed(app->producer, app->flush_id, f.now);
        ck_assert_uint_eq(reply.n, 0);
        producer_flushed(other->producer, other->flush_id, f.now);
        ck_assert_uint_eq(reply.n, 1);
        ck_assert_int_eq(reply.outcome, 0);
        producer_flushed(other->producer, other->flush_id, f.now);
        ck_assert_uint_eq(reply.n, 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_flush_takes_what_is_in_unfinished_chunks) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Reply reply;
        Bytes trace;

        consumer = start(&app);
        app->acks_flush = true;
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write_unfinished(writer, "one");
        ask(consumer, 0, &reply);
        fixture_settle(&f);
        ck_assert_uint_eq(reply.n, 1);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "one"), 1);
        bytes_deinit(&trace);

        /* And not again when the chunk is given back, with more in it. */
        fake_write(writer, "two");
        fixture_stop_session(&f, consumer);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "one"), 0);
        ck_assert_uint_eq(trace_count_text(&trace, "two"), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_flush_names_who_is_silent_at_its_deadline) {
        FakeProducer *app;
        FakeConsumer *consumer;
        SmbWriter *writer;
        Reply reply;
        Bytes trace;

        consumer = start(&app);
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write_unfinished(writer, "kept nevertheless");
        ask(consumer, 700 * MS, &reply);
        fixture_advance(&f, 700 * MS - 1);
        ck_assert_uint_eq(reply.n, 0);
        fixture_advance(&f, 1);
        ck_assert_uint_eq(reply.n, 1);
        ck_assert_int_eq(reply.outcome, 0);
        ck_assert_str_eq(reply.silent, "track_event@app ");
        producer_flushed(app->producer, app->flush_id, f.now);
        ck_assert_uint_eq(reply.n, 1);
        trace = fixture_read(&f, consumer);
        ck_assert_uint_eq(trace_count_text(&trace, "kept nevertheless"), 1);
        ck_assert(trace_has_event(&trace, 8, NULL));
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_next_good_flush_takes_back_what_was_said_of_slow_sources) {
        FakeProducer *app;
        FakeConsumer *consumer;
        Reply reply;
        Bytes trace;

        consumer = start(&app);
        ask(consumer, 0, &reply);
        fixture_advance(&f, 2 * S);
        ck_assert_str_eq(reply.silent, "track_event@app ");
        ask(consumer, 0, &reply);
        producer_flushed(app->producer, app->flush_id, f.now);
        ck_assert_str_eq(reply.silent, "");
        trace = fixture_read(&f, consumer);
        ck_assert(!trace_has_event(&trace, 8, NULL));
        bytes_deinit(&trace);

        /* One that was read stays said. */
        ask(consumer, 0, &reply);
        fixture_advance(&f, 2 * S);
        trace = fixture_read(&f, consumer);
        ck_assert(trace_has_event(&trace, 8, NULL));
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_flush_uses_the_configs_timeout) {
        FakeProducer *app;
        FakeConsumer *consumer;
        Reply reply;

        consumer = start(&app);
        ask(consumer, 0, &reply);
        fixture_advance(&f, 2 * S - 1);
        ck_assert_uint_eq(reply.n, 0);
        fixture_advance(&f, 1);
        ck_assert_uint_eq(reply.n, 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_newer_answer_answers_older_flushes_of_the_session) {
        FakeProducer *app;
        FakeConsumer *consumer, *other;
        Reply first, second, others;

        consumer = start(&app);
        other = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ask(consumer, 0, &first);
        ask(other, 0, &others);
        ask(consumer, 0, &second);
        producer_flushed(app->producer, app->flush_id, f.now);
        ck_assert_uint_eq(first.n, 1);
        ck_assert_uint_eq(second.n, 1);
        ck_assert_uint_eq(others.n, 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_sources_without_data_of_their_own_are_not_asked) {
        FakeProducer *app;
        FakeConsumer *consumer;
        Reply reply;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", NULL);
        fixture_add_source(app, "track_event", &(SourceOptions){ .no_flush = true });
        consumer = fixture_start_session(&f, 1000, CONFIG_ONE("track_event"));
        ask(consumer, 0, &reply);
        ck_assert_uint_eq(reply.n, 1);
        ck_assert_int_eq(reply.outcome, 0);
        ck_assert_uint_eq(app->n_flushes, 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_one_request_for_all_instances_of_a_producer) {
        FakeProducer *app;
        FakeConsumer *consumer;
        Reply reply;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "one");
        fixture_add_source(app, "two", &(SourceOptions){});
        consumer = fixture_start_session(
                &f, 1000, CONFIG_ONE("one") "data_sources { config { name: \"two\" } }");
        ask(consumer, 0, &reply);
        ck_assert_uint_eq(app->n_flushes, 1);
        ck_assert_uint_eq(app->n_flushed_instances, 2);
        fixture_settle(&f);
        ck_assert_uint_eq(reply.n, 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_freed_session_replies_to_its_flushes) {
        FakeProducer *app;
        FakeConsumer *consumer;
        Reply reply;

        consumer = start(&app);
        ask(consumer, 0, &reply);
        fixture_free_session(consumer);
        ck_assert_uint_eq(reply.n, 1);
        ck_assert_int_eq(reply.outcome, SESSION_E_STATE);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_cancelled_flush_does_not_reply) {
        FakeProducer *app;
        FakeConsumer *consumer;
        Reply reply, other;

        consumer = start(&app);
        ask(consumer, 0, &reply);
        ask(consumer, 0, &other);
        session_flush_cancel(consumer->session, &reply);
        producer_flushed(app->producer, app->flush_id, f.now);
        ck_assert_uint_eq(reply.n, 0);
        ck_assert_uint_eq(other.n, 1);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stop_answers_flushes_that_are_still_out) {
        FakeProducer *app;
        FakeConsumer *consumer;
        Reply reply;

        consumer = start(&app);
        ask(consumer, 60 * S, &reply);
        session_stop(consumer->session, "requested", f.now);
        fixture_advance(&f, 2 * S); /* the last flush is overdue; then the sources stop */
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_uint_eq(reply.n, 1);
        ck_assert_int_eq(reply.outcome, 0);
        fixture_deinit(&f);
}
END_TEST

/* A source's callback may keep the flush for itself for ever. */
START_TEST(test_stop_does_not_wait_for_who_owes_an_older_flush) {
        FakeProducer *app, *other;
        FakeConsumer *consumer;
        char silent[128] = "";
        Reply reply;

        consumer = start(&app);
        other = fixture_connect_producer(&f, 1000, "other", "track_event");
        ask(consumer, 0, &reply);
        fixture_advance(&f, 2 * S);
        ck_assert_str_eq(reply.silent, "track_event@app ");
        session_stop(consumer->session, "requested", f.now);
        fixture_settle(&f);
        ck_assert_uint_eq(other->n_flushes, 2);
        ck_assert_uint_eq(app->n_flushes, 2); /* asked nevertheless */
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fake_silent(consumer->session, silent, sizeof(silent));
        ck_assert_str_eq(silent, "track_event@app ");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stop_waits_for_who_has_answered_late) {
        FakeProducer *app;
        FakeConsumer *consumer;
        Reply reply;

        consumer = start(&app);
        ask(consumer, 0, &reply);
        fixture_advance(&f, 3 * S);
        producer_flushed(app->producer, app->flush_id, f.now);
        session_stop(consumer->session, "requested", f.now);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(consumer->session), SESSION_FLUSHING);
        producer_flushed(app->producer, app->flush_id, f.now);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_disabling_waits_for_no_flush_for_long) {
        FakeProducer *app;
        FakeConsumer *consumer;

        consumer = start(&app);
        session_disable(consumer->session, "stopped", f.now);
        fixture_advance(&f, SESSION_DISABLE_FLUSH_NS - 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_FLUSHING);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_flush_needs_a_recording_session) {
        const SessionOptions options = { .owner = { .uid = 1000 } };
        FakeConsumer *consumer;
        Reply reply = {};

        fixture_init(&f);
        ck_assert_int_eq(fixture_try_session(&f, &consumer, &options, CONFIG_ONE("track_event")),
                         0);
        ck_assert_int_eq(session_flush(consumer->session, 0, 0, on_done, &reply, f.now),
                         SESSION_E_STATE);
        fixture_stop_session(&f, consumer);
        ck_assert_int_eq(session_flush(consumer->session, 0, 0, on_done, &reply, f.now),
                         SESSION_E_STATE);
        ck_assert_uint_eq(reply.n, 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_pending_flushes_are_limited) {
        FakeProducer *app;
        FakeConsumer *consumer;
        Reply reply = {};

        consumer = start(&app);
        for (unsigned i = 0; i < SESSION_FLUSHES_MAX; i++)
                ck_assert_int_eq(session_flush(consumer->session, 0, 0, on_done, &reply, f.now), 0);
        ck_assert_int_eq(session_flush(consumer->session, 0, 0, on_done, &reply, f.now),
                         SESSION_E_LIMIT);
        fixture_advance(&f, 2 * S);
        ck_assert_uint_eq(reply.n, SESSION_FLUSHES_MAX);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_periodic_flush_does_not_pile_up_on_a_silent_producer) {
        FakeProducer *app;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        app->acks_flush = false;
        fixture_start_session(
                &f, 1000, CONFIG_ONE("track_event") "flush_period_ms: 500 flush_timeout_ms: 10000");
        fixture_advance(&f, 9 * S);
        ck_assert_uint_eq(app->n_flushes, 1);
        ck_assert_uint_eq(app->flush_flags & 0xf, 1);
        producer_flushed(app->producer, app->flush_id, f.now);
        fixture_advance(&f, 1 * S);
        ck_assert_uint_eq(app->n_flushes, 2);
        fixture_deinit(&f);
}
END_TEST

/* Asks again as soon as it has its reply. */
static void on_done_ask_again(void *userdata, int outcome) {
        Reply *reply = userdata;

        if (reply->n++ == 0)
                ck_assert_int_eq(
                        session_flush(
                                (Session *)reply->session, 0, 4, on_done_ask_again, reply, f.now),
                        0);
}

START_TEST(test_reply_may_ask_again_while_other_flushes_are_complete) {
        FakeProducer *app;
        FakeConsumer *consumer = start(&app);
        Reply first = { .session = consumer->session }, second;

        ck_assert_int_eq(session_flush(consumer->session, 0, 4, on_done_ask_again, &first, f.now),
                         0);
        ask(consumer, 0, &second);
        producer_flushed(app->producer, app->flush_id, f.now); /* both */
        ck_assert_uint_eq(first.n, 1);
        ck_assert_uint_eq(second.n, 1);
        producer_flushed(app->producer, app->flush_id, f.now);
        ck_assert_uint_eq(first.n, 2);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("flush",
          test_reply_may_ask_again_while_other_flushes_are_complete,
          test_flush_is_answered_when_all_producers_have,
          test_flush_takes_what_is_in_unfinished_chunks,
          test_flush_names_who_is_silent_at_its_deadline,
          test_next_good_flush_takes_back_what_was_said_of_slow_sources,
          test_flush_uses_the_configs_timeout,
          test_newer_answer_answers_older_flushes_of_the_session,
          test_sources_without_data_of_their_own_are_not_asked,
          test_one_request_for_all_instances_of_a_producer,
          test_freed_session_replies_to_its_flushes,
          test_cancelled_flush_does_not_reply,
          test_stop_answers_flushes_that_are_still_out,
          test_stop_does_not_wait_for_who_owes_an_older_flush,
          test_stop_waits_for_who_has_answered_late,
          test_disabling_waits_for_no_flush_for_long,
          test_flush_needs_a_recording_session,
          test_pending_flushes_are_limited,
          test_periodic_flush_does_not_pile_up_on_a_silent_producer)
