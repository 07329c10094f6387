/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session whose service has gone goes on in the next one. */

#include <errno.h>

#include "core/events/service-packets.h"
#include "restore-world.h"
#include "shared/fd.h"

#define ENDLESS  CONFIG_ONE("track_event")
#define DEFERRED CONFIG_ONE("track_event") "deferred_start: true "
#define START_BY_TRIGGER                                                                     \
        CONFIG_ONE("track_event")                                                            \
        "trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 10000 triggers { " \
        "name: \"go\" stop_delay_ms: 5000 } } "
#define STOP_BY_TRIGGER                                                                     \
        CONFIG_ONE("track_event")                                                           \
        "trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 60000 triggers { " \
        "name: \"go\" stop_delay_ms: 5000 } } "
#define CLONE_BY_TRIGGER                                                                      \
        CONFIG_ONE("track_event")                                                             \
        "trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000 triggers { " \
        "name: \"go\" stop_delay_ms: 5000 } } "

START_TEST(test_session_goes_on_with_what_it_has_recorded) {
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        FakeProducer *producer;
        Session *session;
        SmbWriter *writer;
        Bytes trace;

        replace_service(2 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        ck_assert_int_eq(buffer.index_fd, -1);
        ck_assert_uint_eq(buffer.n_broken, 0);
        ck_assert_uint_eq(session_id(session), former.id);
        ck_assert_uint_eq(session_uuid(session)[1], former.uuid[1]);
        ck_assert_uint_eq(session_started_at(session), former.started_at);
        ck_assert_int_eq(session_state(session), SESSION_STARTED);

        producer = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_settle(&f);
        writer = fake_writer_new(producer, fake_instance(producer, "track_event"));
        fake_write(writer, "after");
        fake_ring(producer);
        fixture_advance(&f, 1 * S);
        trace = read_session(session);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "after"), 1);
        ck_assert_uint_eq(session_n_notes(session), 1);
        bytes_deinit(&trace);
        free(writer);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_duration_counts_while_there_is_no_service) {
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        Session *session;

        replace_service(6 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        fixture_advance(&f, 2 * S);
        ck_assert_int_eq(session_state(session), SESSION_STARTED);
        fixture_advance(&f, 2 * S);
        ck_assert_int_eq(session_state(session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(session), "duration");
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_that_should_have_ended_ends_at_once) {
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        Session *session;
        Bytes trace;

        replace_service(60 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        fixture_advance(&f, 1 * MS);
        ck_assert_int_eq(session_state(session), SESSION_STOPPED);
        trace = read_session(session);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        bytes_deinit(&trace);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_can_go_on_twice) {
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        Session *session;
        Bytes trace;

        for (unsigned i = 0; i < 2; i++) {
                FakeConsumer consumer = {};

                replace_service(1 * S);
                ck_assert_int_eq(restore(&session, &former), 0);
                consumer.session = session;
                if (i == 0) {
                        former = leave(&consumer, &buffer);
                        session_free(session);
                }
        }
        trace = read_session(session);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        bytes_deinit(&trace);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

static size_t count_text(Session *session, const char *text) {
        Bytes trace = read_session(session);
        const size_t n = trace_count_text(&trace, text);

        bytes_deinit(&trace);
        return n;
}

START_TEST(test_session_that_has_stopped_can_be_read) {
        FakeConsumer *consumer = record(RECORDER);
        FormerBuffer buffer;
        SessionFormer former;
        Session *session;
        uint64_t stopped_at;

        fixture_stop_session(&f, consumer);
        stopped_at = session_stopped_at(consumer->session);
        former = leave(consumer, &buffer);
        replace_service(2 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_advance(&f, 60 * S);
        ck_assert_int_eq(session_state(session), SESSION_STOPPED);
        ck_assert_uint_eq(session_stopped_at(session), stopped_at);
        ck_assert_str_eq(session_stop_reason(session), "requested");
        ck_assert_uint_eq(session_n_instances(session), 1); /* missing */
        ck_assert_uint_eq(count_text(session, "before"), 1);
        ck_assert_uint_eq(count_text(session, "before"), 0);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_that_was_about_to_stop_has_stopped) {
        FakeConsumer *consumer = record(RECORDER);
        FormerBuffer buffer;
        SessionFormer former;
        Session *session;

        session_stop(consumer->session, "requested", f.now); /* nobody answers */
        ck_assert_int_eq(session_state(consumer->session), SESSION_FLUSHING);
        former = leave(consumer, &buffer);
        replace_service(1 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(session), "requested");
        ck_assert_uint_eq(count_text(session, "before"), 1);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_session_that_waits_for_its_start_goes_on_waiting) {
        FakeProducer *producer;
        FakeConsumer *consumer;
        FormerBuffer buffer;
        SessionFormer former;
        Session *session;

        fixture_init(&f);
        consumer = fixture_start_session_with(&f, &kept, DEFERRED);
        former = leave(consumer, &buffer);
        replace_service(1 * S);
        ck_assert_int_eq(restore_as(&session, &former, DEFERRED), 0);
        producer = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_advance(&f, 60 * S);
        ck_assert_int_eq(session_state(session), SESSION_CONFIGURED);
        ck_assert(!fake_instance(producer, "track_event")->start_asked);
        ck_assert_int_eq(session_start(session, f.now), 0);
        fixture_settle(&f);
        ck_assert_int_eq(session_state(session), SESSION_STARTED);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_time_for_a_trigger_counts_while_there_is_no_service) {
        FakeConsumer *consumer;
        FormerBuffer buffer;
        SessionFormer former;
        Session *session;

        fixture_init(&f);
        consumer = fixture_start_session_with(&f, &kept, START_BY_TRIGGER);
        fixture_advance(&f, 4 * S);
        former = leave(consumer, &buffer);
        replace_service(3 * S);
        ck_assert_int_eq(restore_as(&session, &former, START_BY_TRIGGER), 0);
        fixture_advance(&f, 3 * S - 1);
        ck_assert_int_eq(session_state(session), SESSION_CONFIGURED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(session), "trigger-timeout");
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

/* The trigger that was seen before counts: it says when the session ends, and that there is something to read. */
START_TEST(test_trigger_that_was_hit_before_ends_the_session) {
        FakeConsumer *consumer = record(STOP_BY_TRIGGER);
        FormerBuffer buffer;
        SessionFormer former;
        Session *session;
        Bytes trace;

        ck_assert_uint_eq(fake_trigger(f.producers[0], "go"), 1);
        former = leave(consumer, &buffer);
        replace_service(4 * S);
        ck_assert_int_eq(restore_as(&session, &former, STOP_BY_TRIGGER), 0);
        fixture_advance(&f, 1 * S - 1);
        ck_assert_int_eq(session_state(session), SESSION_STARTED);
        fixture_advance(&f, 1);
        ck_assert_int_eq(session_state(session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(session), "trigger");
        trace = read_session(session);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRIGGER), 1);
        bytes_deinit(&trace);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_snapshot_that_was_asked_for_before_is_taken_when_it_is_due) {
        FakeConsumer *consumer = record(CLONE_BY_TRIGGER);
        FormerBuffer buffer;
        SessionFormer former;
        Session *session;
        Bytes trace;

        ck_assert_uint_eq(fake_trigger(f.producers[0], "go"), 1);
        former = leave(consumer, &buffer);
        replace_service(4 * S);
        ck_assert_int_eq(restore_as(&session, &former, CLONE_BY_TRIGGER), 0);
        fixture_advance(&f, 1 * S - 1);
        ck_assert_ptr_null(snapshot_taken);
        fixture_advance(&f, 1);
        ck_assert_ptr_nonnull(snapshot_taken);
        ck_assert_int_eq(session_state(session), SESSION_STARTED);
        trace = read_session(snapshot_taken);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CLONE_SNAPSHOT_TRIGGER), 1);
        bytes_deinit(&trace);
        session_free(snapshot_taken);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

/* It is kept by itself, whatever becomes of the session that it was taken of. */
START_TEST(test_snapshot_that_nobody_has_fetched_is_there_still) {
        FakeConsumer *consumer = record(CLONE_BY_TRIGGER);
        FormerBuffer buffer;
        SessionFormer former;
        Session *session;
        uint64_t source;
        Bytes trace;

        former = leave(consumer, &buffer);
        replace_service(1 * S);
        ck_assert_int_eq(restore_as(&session, &former, CLONE_BY_TRIGGER), 0);
        source = session_id(session);
        fixture_connect_producer(&f, 1000, "app", "track_event");
        ck_assert_uint_eq(fake_trigger(f.producers[0], "go"), 1);
        snapshot_taken = NULL;
        fixture_advance(&f, 5 * S);
        ck_assert_ptr_nonnull(snapshot_taken);
        ck_assert(!session_can_be_left(snapshot_taken));
        ck_assert(session_awaits_keeping(snapshot_taken));
        ck_assert_uint_eq(session_keep_from(snapshot_taken), f.now + CLONE_KEEP_AFTER_NS);
        session_free(session);
        while (session_awaits_keeping(snapshot_taken))
                session_keep(snapshot_taken, 1);
        for (unsigned i = 0; i < 2; i++) {
                FakeConsumer taken = { .session = snapshot_taken };

                former = leave(&taken, &buffer);
                session_free(snapshot_taken);
                replace_service(1 * S);
                ck_assert_int_eq(restore_as(&snapshot_taken, &former, CLONE_BY_TRIGGER), 0);
                ck_assert_uint_eq(buffer.n_broken, 0);
        }
        ck_assert_int_eq(session_state(snapshot_taken), SESSION_STOPPED);
        ck_assert_uint_eq(session_cloned_from(snapshot_taken), source);
        ck_assert_str_eq(session_name(snapshot_taken), "go");
        trace = read_session(snapshot_taken);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CLONE_SNAPSHOT_TRIGGER), 1);
        ck_assert(trace_has_event(&trace, EVENT_TRACING_STARTED, NULL));
        ck_assert(trace_has_event(&trace, EVENT_CLONE_STARTED, NULL));
        bytes_deinit(&trace);
        session_free(snapshot_taken);
        fixture_deinit(&f);
}
END_TEST

/* A reader who has had a part of it must be able to tell the sequences of both parts from each other. */
START_TEST(test_sequences_of_those_who_come_back_have_other_numbers) {
        FakeConsumer *consumer = record(RECORDER);
        FakeProducer *producer;
        FormerBuffer buffer;
        SessionFormer former;
        SmbWriter *writer;
        Session *session;
        TestPacket before, after;
        Bytes first, second;

        first = fixture_read(&f, consumer);
        former = leave(consumer, &buffer);
        replace_service(1 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        producer = fixture_connect_producer(&f, 1000, "app", "track_event");
        fixture_settle(&f);
        writer = fake_writer_new(producer, fake_instance(producer, "track_event"));
        fake_write(writer, "after");
        fake_ring(producer);
        fixture_advance(&f, 1 * S);
        second = read_session(session);
        ck_assert_uint_eq(trace_count_text(&second, "before"), 0);
        before = trace_text(&first, "before");
        after = trace_text(&second, "after");
        ck_assert_uint_ne(packet_uint(&before, PACKET_SEQUENCE_ID),
                          packet_uint(&after, PACKET_SEQUENCE_ID));
        bytes_deinit(&first);
        bytes_deinit(&second);
        free(writer);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

/* It has its buffers in private memory from its start. */
START_TEST(test_session_that_is_detached_later_is_moved_into_files_and_goes_on) {
        static const SessionOptions attached = { .owner = { .uid = 1000 } };
        FakeProducer *producer;
        FakeConsumer *consumer;
        FormerBuffer buffer;
        SessionFormer former;
        SmbWriter *writer;
        Session *session;
        Bytes trace;

        fixture_init(&f);
        producer = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session_with(&f, &attached, RECORDER);
        fixture_settle(&f);
        writer = fake_writer_new(producer, fake_instance(producer, "track_event"));
        fake_write(writer, "before");
        fake_ring(producer);
        fixture_advance(&f, 1 * S);
        ck_assert(!session_awaits_keeping(consumer->session));
        session_set_detached(consumer->session, true);
        ck_assert(session_awaits_keeping(consumer->session));
        ck_assert(!session_can_be_left(consumer->session));
        session_keep(consumer->session, 1);
        ck_assert(session_awaits_keeping(consumer->session)); /* there is more to move */
        fake_write(writer, "meanwhile");
        fake_ring(producer);
        fixture_advance(&f, 1 * S);
        while (session_awaits_keeping(consumer->session))
                session_keep(consumer->session, 1);
        fake_write(writer, "later");
        fake_ring(producer);
        fixture_advance(&f, 1 * S);
        former = leave(consumer, &buffer);
        free(writer);
        replace_service(1 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        ck_assert_uint_eq(buffer.n_broken, 0);
        trace = read_session(session);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "meanwhile"), 1);
        ck_assert_uint_eq(trace_count_text(&trace, "later"), 1);
        bytes_deinit(&trace);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

/* The machine's clock is set under each of three services. */
START_TEST(test_what_was_not_read_of_the_service_is_there_still) {
        FormerBuffer buffer;
        FakeConsumer *consumer;
        SessionFormer former;
        uint64_t started_at, at;
        Session *session;
        Bytes trace;

        consumer = record(ENDLESS);
        started_at = f.now - 1 * S;
        f.skew_ns += 3600 * S;
        fixture_advance(&f, SESSION_SNAPSHOT_INTERVAL_NS);
        former = leave(consumer, &buffer);
        for (unsigned i = 0; i < 2; i++) {
                replace_service(1 * S);
                f.skew_ns = (i + 2) * 3600 * S;
                ck_assert_int_eq(restore_as(&session, &former, ENDLESS), 0);
                if (i == 0) {
                        FakeConsumer next = { .session = session };

                        former = leave(&next, &buffer);
                        session_free(session);
                }
        }
        trace = read_session(session);
        ck_assert_uint_eq(trace_count(&trace, PACKET_CLOCK_SNAPSHOT), 4);
        ck_assert(trace_has_event(&trace, EVENT_TRACING_STARTED, &at));
        ck_assert_uint_eq(at, started_at);
        ck_assert(trace_has_event(&trace, EVENT_ALL_SOURCES_STARTED, NULL));
        bytes_deinit(&trace);

        former = leave(&(FakeConsumer){ .session = session }, &buffer);
        session_free(session);
        replace_service(1 * S);
        ck_assert_int_eq(restore_as(&session, &former, ENDLESS), 0);
        trace = read_session(session);
        ck_assert(!trace_has_event(&trace, EVENT_TRACING_STARTED, NULL)); /* that was read */
        bytes_deinit(&trace);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_what_was_noted_before_is_noted_still) {
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        Session *session;
        uint64_t until;
        Bytes trace;

        for (unsigned i = 0; i < 2; i++) {
                FakeConsumer consumer = {};

                replace_service(1 * S);
                ck_assert_int_eq(restore(&session, &former), 0);
                ck_assert_uint_eq(session_n_notes(session), i + 1);
                consumer.session = session;
                if (i == 0) {
                        former = leave(&consumer, &buffer);
                        session_free(session);
                }
        }
        trace = read_session(session);
        ck_assert_uint_eq(trace_count(&trace, PACKET_TRACK_EVENT), 2);
        ck_assert(trace_has_event(&trace, EVENT_SERVICE_AWAY, &until));
        ck_assert_uint_eq(until, f.now - 1 * S);
        bytes_deinit(&trace);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_past_that_is_none_is_refused_and_the_files_stay) {
        static const uint8_t no_state[] = { 1 << 3, 77 }, no_hit[] = { 8 << 3, 1 },
                             cut[] = { 10 << 3 | 2, 9, 1 };
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        /* A field at the end that nobody knows, with all the bytes there may be. */
        static const uint8_t unknown[] = { 0xc2, 0x3e, 0x80, 0x80, 0x80, 0x02 };
        static uint8_t endless[SESSION_PAST_BYTES_MAX + 4096];
        const struct {
                const uint8_t *data;
                size_t n;
        } pasts[] = {
                { no_state, sizeof(no_state) },
                { no_hit, sizeof(no_hit) },
                { cut, sizeof(cut) },
                { endless, former.n_past + sizeof(unknown) + SESSION_PAST_BYTES_MAX },
        };
        Session *session;

        memcpy(endless, former.past, former.n_past);
        memcpy(endless + former.n_past, unknown, sizeof(unknown));
        replace_service(1 * S);
        for (size_t i = 0; i < ARRAY_SIZE(pasts); i++) {
                FormerBuffer copy = {
                        .index_fd = fcntl(buffer.index_fd, F_DUPFD_CLOEXEC, 3),
                        .segments_fd = fcntl(buffer.segments_fd, F_DUPFD_CLOEXEC, 3),
                };
                SessionFormer other = former;

                other.buffers = &copy;
                other.past = pasts[i].data;
                other.n_past = pasts[i].n;
                ck_assert_int_eq(restore(&session, &other), -EBADMSG);
        }
        ck_assert_int_eq(restore(&session, &former), 0);
        ck_assert_uint_eq(count_text(session, "before"), 1);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_files_that_are_no_buffer_are_refused_and_stay) {
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        Session *session;
        const int index_fd = buffer.index_fd;

        replace_service(1 * S);
        buffer.index_fd = buffer.segments_fd;
        ck_assert_int_eq(restore(&session, &former), -EBADMSG);
        ck_assert_int_eq(buffer.index_fd, buffer.segments_fd);
        buffer.index_fd = index_fd;
        ck_assert_int_eq(restore(&session, &former), 0);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_number_that_is_taken_is_refused) {
        FormerBuffer buffer, other = { -1, -1, 0 };
        SessionFormer former = record_and_leave(&buffer), again = former;
        Session *session;

        replace_service(1 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        again.buffers = &other;
        ck_assert_int_eq(restore(&session, &again), -EEXIST);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

/* A filter of names, and a trigger: what is made of the config is there again. */
START_TEST(test_session_listens_to_triggers_again) {
        const TriggerSender sender = { .identity = { .uid = 1000 }, .producer = "bee" };
        static const char *const names[] = { "end" };
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        Session *session;
        size_t n;

        replace_service(1 * S);
        ck_assert_int_eq(restore_as(&session,
                                    &former,
                                    RECORDER "trigger_config { trigger_mode: STOP_TRACING "
                                             "trigger_timeout_ms: 60000 triggers { name: \"end\" "
                                             "producer_name_regex: \"b.*\" stop_delay_ms: 100 } }"),
                         0);
        ck_assert_int_eq(service_activate_triggers(f.service, &sender, names, 1, &n, f.now), 0);
        ck_assert_uint_eq(n, 1);
        fixture_advance(&f, 1 * S);
        ck_assert_int_eq(session_state(session), SESSION_STOPPED);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_sessions_are_in_the_order_in_which_they_came) {
        FakeConsumer *one, *two;
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        Session *session;

        replace_service(1 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        service_tick(f.service, f.now);
        one = fixture_start_session(&f, 1000, CONFIG_ONE("a"));
        two = fixture_start_session(&f, 1000, CONFIG_ONE("a"));
        ck_assert_uint_gt(session_order(session), 0);
        ck_assert_uint_gt(session_order(one->session), session_order(session));
        ck_assert_uint_gt(session_order(two->session), session_order(one->session));
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_time_that_the_machine_sleeps_does_not_count_for_the_rest) {
        FormerBuffer buffer;
        SessionFormer former = record_and_leave(&buffer);
        Session *session;

        replace_service(2 * S);
        ck_assert_int_eq(
                restore_as(&session, &former, RECORDER "prefer_suspend_clock_for_duration: true"),
                0);
        f.suspended_ns += 5 * S;
        fixture_advance(&f, 8 * S); /* of which it sleeps five; seven are left */
        ck_assert_int_eq(session_state(session), SESSION_STARTED);
        fixture_advance(&f, 5 * S);
        ck_assert_int_eq(session_state(session), SESSION_STOPPED);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

/* What only the system's producers may write, and what had been written before, is still known as theirs. */
START_TEST(test_packets_of_the_system_stay) {
        static const uint8_t packet[] = { 7 << 3 | 2, 0 }; /* sys_stats, which is empty */
        const SessionOptions options = { .owner = { .uid = 0 },
                                         .scope = SESSION_SCOPE_SYSTEM,
                                         .detached = true,
                                         .is_kept = true };
        FakeProducer *producer;
        FakeConsumer *consumer;
        FormerBuffer buffer;
        SessionFormer former;
        Session *session;
        SmbWriter *writer;
        Bytes trace;

        fixture_init(&f);
        producer = fixture_connect_producer(&f, 991, "probes", "track_event");
        consumer = fixture_start_session_with(&f, &options, RECORDER);
        fixture_settle(&f);
        writer = fake_writer_new(producer, fake_instance(producer, "track_event"));
        fake_write_bytes(writer, packet, sizeof(packet));
        smb_writer_flush(writer);
        fake_ring(producer);
        fixture_advance(&f, 1 * S);
        free(writer);
        former = leave(consumer, &buffer);
        replace_service(1 * S);
        ck_assert_int_eq(restore(&session, &former), 0);
        trace = read_session(session);
        ck_assert_uint_eq(trace_count(&trace, 7), 1);
        bytes_deinit(&trace);
        session_free(session);
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-restore",
          test_session_goes_on_with_what_it_has_recorded,
          test_duration_counts_while_there_is_no_service,
          test_session_that_should_have_ended_ends_at_once,
          test_session_can_go_on_twice,
          test_what_was_not_read_of_the_service_is_there_still,
          test_session_that_has_stopped_can_be_read,
          test_session_that_was_about_to_stop_has_stopped,
          test_session_that_waits_for_its_start_goes_on_waiting,
          test_time_for_a_trigger_counts_while_there_is_no_service,
          test_trigger_that_was_hit_before_ends_the_session,
          test_snapshot_that_was_asked_for_before_is_taken_when_it_is_due,
          test_snapshot_that_nobody_has_fetched_is_there_still,
          test_sequences_of_those_who_come_back_have_other_numbers,
          test_session_that_is_detached_later_is_moved_into_files_and_goes_on,
          test_what_was_noted_before_is_noted_still,
          test_packets_of_the_system_stay,
          test_past_that_is_none_is_refused_and_the_files_stay,
          test_files_that_are_no_buffer_are_refused_and_stay,
          test_number_that_is_taken_is_refused,
          test_session_listens_to_triggers_again,
          test_time_that_the_machine_sleeps_does_not_count_for_the_rest,
          test_sessions_are_in_the_order_in_which_they_came)
