/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* CLONE_SNAPSHOT: the clones that triggers ask for. */

#include "trigger-world.h"

START_TEST(test_clone_trigger_takes_a_snapshot_after_its_delay_and_goes_on) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"crash\" stop_delay_ms: 5000 }"));
        SmbWriter *writer = writer_new();
        Session *clone;
        Bytes trace;

        fake_write(writer, "before");
        ck_assert_uint_eq(fake_trigger(app, "crash"), 1);
        fixture_advance(&f, 4 * S);
        fake_write(writer, "after");
        ck_assert_uint_eq(consumer->n_snapshots, 0);
        fixture_advance(&f, 1 * S);
        ck_assert_uint_eq(consumer->n_snapshots, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        clone = consumer->snapshots[0]->session;
        ck_assert_uint_eq(session_cloned_from(clone), session_id(consumer->session));
        ck_assert_uint_eq(session_options(clone)->owner.uid, 1000);
        ck_assert(session_options(clone)->detached);

        trace = fixture_read(&f, consumer->snapshots[0]);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "after"), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CLONE_SNAPSHOT_TRIGGER), 1);
        ck_assert_str_eq(trigger_text(&trace, PACKET_CLONE_SNAPSHOT_TRIGGER, 0),
                         "crash app 1000 5000");
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_each_snapshot_says_what_was_hit_since_the_last_one) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"a\" } "
                                             "triggers { name: \"b\" stop_delay_ms: 1000 }"));
        Bytes trace;

        ck_assert_uint_eq(fake_trigger(app, "b"), 1);
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_uint_eq(consumer->n_snapshots, 1);
        trace = fixture_read(&f, consumer->snapshots[0]);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), 2);
        ck_assert_str_eq(trigger_text(&trace, PACKET_CLONE_SNAPSHOT_TRIGGER, 0), "a app 1000 0");
        bytes_deinit(&trace);
        fixture_advance(&f, 1 * S);
        ck_assert_uint_eq(consumer->n_snapshots, 2);
        trace = fixture_read(&f, consumer->snapshots[1]);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), 0);
        ck_assert_str_eq(trigger_text(&trace, PACKET_CLONE_SNAPSHOT_TRIGGER, 0), "b app 1000 1000");
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_clone_that_somebody_asked_for_has_the_triggers_and_no_cause) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"a\" stop_delay_ms: 9000 }"));
        Bytes trace;

        fake_trigger(app, "a");
        trace = fixture_read(&f, fixture_clone(&f, consumer));
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CLONE_SNAPSHOT_TRIGGER), 0);
        bytes_deinit(&trace);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_only_the_clones_of_such_a_session_are_read) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"a\" }"));
        SmbWriter *writer = writer_new();

        fake_write(writer, "one");
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_uint_eq(bytes_of(consumer), 0);
        fixture_stop_session(&f, consumer);
        ck_assert_uint_eq(bytes_of(consumer), 0);
        ck_assert_uint_eq(count_text_of(consumer->snapshots[0], "one"), 1);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_stop_session_takes_snapshots_where_the_config_would_rather) {
        FakeConsumer *consumer = start(CONFIG_TRIGGERS("STOP_TRACING trigger_timeout_ms: 10000 "
                                                       "use_clone_snapshot_if_available: true",
                                                       "triggers { name: \"a\" }"));

        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_uint_eq(consumer->n_snapshots, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        fixture_advance(&f, 10 * S);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_snapshot_that_is_due_after_the_end_is_taken_at_the_end) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"a\" stop_delay_ms: 60000 }"));
        SmbWriter *writer = writer_new();

        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        fake_write(writer, "to the end");
        fixture_stop_session(&f, consumer);
        ck_assert_uint_eq(consumer->n_snapshots, 1);
        ck_assert_uint_eq(count_text_of(consumer->snapshots[0], "to the end"), 1);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

/* A session may be freed by the one who ends it, before the next tick. */
START_TEST(test_planned_snapshots_are_there_when_the_stop_returns) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"a\" stop_delay_ms: 60000 } "
                                             "triggers { name: \"b\" stop_delay_ms: 90000 }"));

        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_uint_eq(fake_trigger(app, "b"), 1);
        fixture_disconnect_producer(app); /* nobody is waited for */
        session_stop(consumer->session, "requested", f.now);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
        ck_assert_uint_eq(consumer->n_snapshots, 2);
        fixture_free_session(consumer);
        ck_assert_int_eq(session_state(consumer->snapshots[1]->session), SESSION_STOPPED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_may_go_while_its_snapshots_are_waited_for) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"now\" } "
                                             "triggers { name: \"later\" stop_delay_ms: 60000 }"));

        app->acks_flush = false;
        fake_trigger(app, "later");
        fake_trigger(app, "now");
        ck_assert_uint_eq(consumer->n_snapshots, 0);
        fixture_free_session(consumer);
        fixture_advance(&f, 100 * S);
        ck_assert_uint_eq(consumer->n_snapshots, 0);
        ck_assert_uint_eq(consumer->n_snapshots_failed, 0); /* nobody is there to be told */
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_snapshots_of_silent_producers_complete_each_other) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"a\" stop_delay_ms: 10 } "
                                             "triggers { name: \"b\" stop_delay_ms: 5010 }"));

        app->acks_flush = false;
        fake_trigger(app, "b");
        fake_trigger(app, "a");
        fixture_advance(&f, 20 * S); /* b is due when a's flush is overdue */
        ck_assert_uint_eq(consumer->n_snapshots, 2);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_snapshot_that_a_limit_forbids_is_told) {
        FakeConsumer *consumer = start(CLONE("triggers { name: \"a\" }"));

        for (unsigned i = 1; i < SERVICE_SESSIONS_PER_USER_MAX; i++)
                fixture_clone(&f, consumer);
        ck_assert_uint_eq(fake_trigger(app, "a"), 1);
        ck_assert_uint_eq(consumer->n_snapshots, 0);
        ck_assert_uint_eq(consumer->n_snapshots_failed, 1);
        ck_assert_int_eq(consumer->outcome, SESSION_E_LIMIT);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("trigger-snapshot",
          test_clone_trigger_takes_a_snapshot_after_its_delay_and_goes_on,
          test_each_snapshot_says_what_was_hit_since_the_last_one,
          test_clone_that_somebody_asked_for_has_the_triggers_and_no_cause,
          test_only_the_clones_of_such_a_session_are_read,
          test_stop_session_takes_snapshots_where_the_config_would_rather,
          test_snapshot_that_is_due_after_the_end_is_taken_at_the_end,
          test_planned_snapshots_are_there_when_the_stop_returns,
          test_session_may_go_while_its_snapshots_are_waited_for,
          test_snapshots_of_silent_producers_complete_each_other,
          test_snapshot_that_a_limit_forbids_is_told)
