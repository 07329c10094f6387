/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session whose service has gone goes on in the next one. */

#include <errno.h>
#include <fcntl.h>

#include "core/session-restore.h"
#include "fixture.h"

static Fixture f;

#define RECORDER CONFIG_ONE("track_event") "duration_ms: 10000 "

static const SessionOptions kept = {
        .owner = { .uid = 1000 },
        .detached = true,
        .is_kept = true,
};

/* What the next service finds of it. */
static SessionFormer leave(FakeConsumer *consumer, FormerBuffer *ret_buffer) {
        const Session *session = consumer->session;
        SessionFormer former = {
                .id = session_id(session),
                .uuid = { session_uuid(session)[0], session_uuid(session)[1] },
                .started_at = session_started_at(session),
                .left_at = f.now,
                .buffers = ret_buffer,
                .n_buffers = 1,
        };
        int index_fd, segments_fd;

        ck_assert(session_can_be_left(session));
        ck_assert(session_buffer_files(session, 0, &index_fd, &segments_fd));
        *ret_buffer = (FormerBuffer){
                .index_fd = fcntl(index_fd, F_DUPFD_CLOEXEC, 3),
                .segments_fd = fcntl(segments_fd, F_DUPFD_CLOEXEC, 3),
        };
        session_leave(consumer->session);
        return former;
}

static void on_changed(void *peer) {
}

static int restore(Session **ret, SessionFormer *former) {
        static const SessionOps ops = { .changed = on_changed };
        SessionError error = {};
        ConfigError why;
        Config *config;
        int r;

        ck_assert_int_eq(config_new_from_text(&config, RECORDER, &why), 0);
        r = session_restore(ret, f.service, config, &kept, &ops, NULL, former, &error, f.now);
        if (r != 0)
                config_free(config);
        return r;
}

/* The service goes with all that it has, and after a while another one comes. */
static void replace_service(uint64_t away_ns) {
        const uint64_t now = f.now + away_ns;

        fixture_deinit(&f);
        fixture_init(&f);
        ck_assert_uint_le(f.now, now);
        fixture_advance(&f, now - f.now);
}

static Bytes read_session(Session *session) {
        FakeConsumer consumer = { .session = session };

        return fixture_read(&f, &consumer);
}

/* A recorder with a packet, whose service is gone; and what the next one finds. */
static SessionFormer record_and_leave(FormerBuffer *ret_buffer) {
        FakeProducer *producer;
        FakeConsumer *consumer;
        SessionFormer former;
        SmbWriter *writer;

        fixture_init(&f);
        producer = fixture_connect_producer(&f, 1000, "app", "track_event");
        consumer = fixture_start_session_with(&f, &kept, RECORDER);
        fixture_settle(&f);
        writer = fake_writer_new(producer, fake_instance(producer, "track_event"));
        fake_write(writer, "before");
        fake_ring(producer);
        fixture_advance(&f, 1 * S);
        former = leave(consumer, ret_buffer);
        free(writer);
        return former;
}

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

TEST_MAIN("session-restore",
          test_session_goes_on_with_what_it_has_recorded,
          test_duration_counts_while_there_is_no_service,
          test_session_that_should_have_ended_ends_at_once,
          test_session_can_go_on_twice,
          test_files_that_are_no_buffer_are_refused_and_stay,
          test_number_that_is_taken_is_refused)
