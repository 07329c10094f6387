/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What sessions have to do with each other, and with what is for everybody: semaphores, exclusive sessions, guardrails
 * on how often, lockdown. */

#include <stdio.h>

#include "core/model/session-names.h"
#include "fixture.h"

static Fixture f;

#define PLAIN CONFIG_ONE("track_event")

static FakeConsumer *try_session(uid_t uid, const char *config, int outcome) {
        const SessionOptions options = { .owner = { .uid = uid } };
        size_t n_sessions = service_n_sessions(f.service);
        FakeConsumer *consumer;
        int r = fixture_try_session(&f, &consumer, &options, config);

        ck_assert_msg(r == outcome, "%d: %s: %s", r, config, consumer->error.message);
        ck_assert_uint_eq(service_n_sessions(f.service), n_sessions + (outcome == 0));
        return consumer;
}

static void assert_refused(uid_t uid, const char *config, int outcome, const char *words) {
        FakeConsumer *consumer = try_session(uid, config, outcome);

        ck_assert_msg(strstr(consumer->error.message, words),
                      "\"%s\" is not in \"%s\"",
                      words,
                      consumer->error.message);
        free(consumer);
        f.n_consumers--;
}

/*
 * Semaphores
 */

#define SEMAPHORE(name, max) \
        "session_semaphores { name: \"" name "\" max_other_session_count: " max " } "

START_TEST(test_a_semaphore_of_one_admits_one) {
        FakeConsumer *first;

        fixture_init(&f);
        first = try_session(1000, PLAIN SEMAPHORE("a", "0"), 0);
        assert_refused(1000, PLAIN SEMAPHORE("a", "0"), SESSION_E_BUSY, "semaphore \"a\"");
        /* Neither another semaphore nor none is in its way. */
        try_session(1000, PLAIN SEMAPHORE("b", "0"), 0);
        try_session(1000, PLAIN, 0);
        fixture_free_session(first);
        try_session(1000, PLAIN SEMAPHORE("a", "0"), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_each_user_has_semaphores) {
        fixture_init(&f);
        try_session(1000, PLAIN SEMAPHORE("a", "0"), 0);
        try_session(1001, PLAIN SEMAPHORE("a", "0"), 0);
        try_session(0, PLAIN SEMAPHORE("a", "0"), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_one_of_several_semaphores_suffices_to_refuse) {
        fixture_init(&f);
        try_session(1000, PLAIN SEMAPHORE("a", "0") SEMAPHORE("b", "5"), 0);
        assert_refused(1000,
                       PLAIN SEMAPHORE("c", "0") SEMAPHORE("b", "5") SEMAPHORE("a", "0"),
                       SESSION_E_BUSY,
                       "\"a\"");
        try_session(1000, PLAIN SEMAPHORE("c", "0") SEMAPHORE("b", "5"), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_the_strictest_holder_of_a_semaphore_counts) {
        fixture_init(&f);
        try_session(1000, PLAIN SEMAPHORE("a", "1"), 0);
        try_session(1000, PLAIN SEMAPHORE("a", "3"), 0);
        /* Two hold it, and the first wants at most one beside itself. */
        assert_refused(1000, PLAIN SEMAPHORE("a", "3"), SESSION_E_BUSY, "only 1 may do so");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_the_newcomer_to_a_semaphore_may_be_the_strictest) {
        fixture_init(&f);
        try_session(1000, PLAIN SEMAPHORE("a", "3"), 0);
        assert_refused(1000, PLAIN SEMAPHORE("a", "0"), SESSION_E_BUSY, "only 0 may do so");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_semaphore_admits_as_many_as_it_says) {
        fixture_init(&f);
        for (unsigned i = 0; i < 3; i++)
                try_session(1000, PLAIN SEMAPHORE("a", "2"), 0);
        assert_refused(1000, PLAIN SEMAPHORE("a", "2"), SESSION_E_BUSY, "3 sessions hold");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_stopped_session_holds_no_semaphore) {
        FakeConsumer *first;

        fixture_init(&f);
        first = fixture_start_session(&f, 1000, PLAIN SEMAPHORE("a", "0"));
        fixture_stop_session(&f, first);
        ck_assert_int_eq(session_state(first->session), SESSION_STOPPED);
        try_session(1000, PLAIN SEMAPHORE("a", "0"), 0);
        fixture_deinit(&f);
}
END_TEST

/* Neither its semaphores, nor its name, nor that it wanted to be alone. */
START_TEST(test_a_clone_is_in_nobodys_way) {
        static const char config[] = PLAIN SEMAPHORE("a", "0") "unique_session_name: \"flight\" "
                                                               "exclusive_prio: 1";
        FakeConsumer *original, *clone;

        fixture_init(&f);
        original = fixture_start_session(&f, 0, config);
        clone = fixture_ask_clone(&f, original, &(CloneOptions){ .name = "flight" });
        fixture_settle(&f);
        ck_assert_str_eq(session_name(clone->session), "flight");
        assert_refused(1000, PLAIN, SESSION_E_BUSY, "exclusive");
        fixture_free_session(original);
        original = fixture_start_session(&f, 0, config);
        ck_assert_ptr_eq(session_find_own(f.service, 0, "flight"), original->session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_semaphores_that_make_no_sense_are_refused) {
        char config[4096], *at = stpcpy(config, PLAIN);

        fixture_init(&f);
        assert_refused(1000, PLAIN "session_semaphores { }", SESSION_E_CONFIG, "[0] has no name");
        assert_refused(
                1000, PLAIN SEMAPHORE("a", "1") SEMAPHORE("a", "2"), SESSION_E_CONFIG, "\"a\"");
        for (unsigned i = 0; i <= SESSION_SEMAPHORES_MAX; i++)
                at += sprintf(at, "session_semaphores { name: \"s%u\" } ", i);
        assert_refused(1000, config, SESSION_E_LIMIT, "SESSION_SEMAPHORES_MAX");
        sprintf(config, PLAIN "session_semaphores { name: \"%0*d\" } ", SESSION_NAME_MAX + 1, 0);
        assert_refused(1000, config, SESSION_E_LIMIT, "SESSION_NAME_MAX");
        fixture_deinit(&f);
}
END_TEST

/*
 * Names
 */

#define NAMED PLAIN "unique_session_name: \"a\""

static FakeConsumer *stopped_session(uid_t uid) {
        FakeConsumer *consumer = try_session(uid, NAMED, 0);

        fixture_stop_session(&f, consumer);
        return consumer;
}

static Session *find_any(uid_t viewer) {
        Session *session;

        ck_assert_int_eq(session_find_any(&session, f.service, viewer, "a"), 0);
        return session;
}

START_TEST(test_each_user_has_names) {
        FakeConsumer *first, *second;

        fixture_init(&f);
        first = try_session(1000, NAMED, 0);
        second = try_session(1001, NAMED, 0);
        assert_refused(1001, NAMED, SESSION_E_NAME_IN_USE, "\"a\"");
        ck_assert_ptr_eq(session_find_own(f.service, 1000, "a"), first->session);
        ck_assert_ptr_eq(session_find_own(f.service, 1001, "a"), second->session);
        ck_assert_ptr_null(session_find_own(f.service, 1002, "a"));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_stopped_session_of_another_user_hides_none) {
        FakeConsumer *mine;

        fixture_init(&f);
        stopped_session(1001);
        mine = stopped_session(1000);
        stopped_session(1001);
        ck_assert_ptr_eq(session_find_own(f.service, 1000, "a"), mine->session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_of_stopped_sessions_of_a_name_the_youngest_is_found) {
        FakeConsumer *youngest;

        fixture_init(&f);
        stopped_session(1000);
        youngest = stopped_session(1000);
        ck_assert_ptr_eq(session_find_own(f.service, 1000, "a"), youngest->session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_root_finds_sessions_of_others_behind_its_own) {
        FakeConsumer *other, *own;

        fixture_init(&f);
        ck_assert_ptr_null(find_any(0));
        other = try_session(1000, NAMED, 0);
        ck_assert_ptr_eq(find_any(0), other->session);
        stopped_session(1001);
        ck_assert_ptr_eq(find_any(0), other->session); /* it runs */
        own = stopped_session(0);
        ck_assert_ptr_eq(find_any(0), own->session);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_name_that_several_users_have_is_ambiguous_for_root) {
        Session *session;

        fixture_init(&f);
        try_session(1000, NAMED, 0);
        try_session(1001, NAMED, 0);
        ck_assert_int_eq(session_find_any(&session, f.service, 0, "a"), SESSION_NAMES_E_AMBIGUOUS);
        ck_assert_ptr_null(session);
        fixture_deinit(&f);
}
END_TEST

/*
 * Exclusive sessions
 */

START_TEST(test_an_exclusive_session_ends_the_others_and_keeps_their_data) {
        FakeConsumer *mine, *other, *exclusive;
        FakeProducer *app;
        SmbWriter *writer;
        Bytes trace;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        mine = fixture_start_session(&f, 1000, PLAIN);
        writer = fake_writer_new(app, fake_instance(app, "track_event"));
        fake_write(writer, "before");
        other = try_session(1001, PLAIN "deferred_start: true", 0);
        exclusive = fixture_start_session(&f, 0, PLAIN "exclusive_prio: 1");
        ck_assert_int_eq(session_state(mine->session), SESSION_STOPPED);
        ck_assert_str_eq(session_stop_reason(mine->session), "exclusive");
        ck_assert_str_eq(session_stop_reason(other->session), "exclusive");
        ck_assert_int_eq(session_state(exclusive->session), SESSION_STARTED);
        trace = fixture_read(&f, mine);
        ck_assert_uint_eq(trace_count_text(&trace, "before"), 1);
        bytes_deinit(&trace);
        free(writer);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_an_exclusive_session_lets_in_only_who_asks_for_more) {
        FakeConsumer *first, *second;

        fixture_init(&f);
        first = fixture_start_session(&f, 0, PLAIN "exclusive_prio: 10");
        assert_refused(1000, PLAIN, SESSION_E_BUSY, "exclusive_prio");
        assert_refused(0, PLAIN "exclusive_prio: 9", SESSION_E_BUSY, "exclusive_prio");
        assert_refused(0, PLAIN "exclusive_prio: 10", SESSION_E_BUSY, "exclusive_prio");
        ck_assert_int_eq(session_state(first->session), SESSION_STARTED);
        second = fixture_start_session(&f, 0, PLAIN "exclusive_prio: 11");
        ck_assert_str_eq(session_stop_reason(first->session), "exclusive");
        fixture_stop_session(&f, second);
        try_session(1000, PLAIN, 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_an_exclusive_session_that_is_refused_ends_nobody) {
        FakeConsumer *running;

        fixture_init(&f);
        running = fixture_start_session(&f, 0, PLAIN "unique_session_name: \"a\"");
        assert_refused(0,
                       PLAIN "exclusive_prio: 1 unique_session_name: \"a\"",
                       SESSION_E_NAME_IN_USE,
                       "\"a\"");
        assert_refused(
                0, PLAIN "exclusive_prio: 1 buffers { size_kb: 4194304 }", SESSION_E_LIMIT, "KiB");
        ck_assert_int_eq(session_state(running->session), SESSION_STARTED);
        fixture_deinit(&f);
}
END_TEST

/*
 * Guardrails
 */

#define GUARDED PLAIN "enable_extra_guardrails: true "

START_TEST(test_unattended_sessions_of_one_name_keep_their_distance) {
        FakeConsumer *first;

        fixture_init(&f);
        first = fixture_start_session(&f, 1000, GUARDED "unique_session_name: \"a\"");
        fixture_free_session(first);
        fixture_advance(&f, SESSION_GUARDED_GAP_NS - 1 * S);
        assert_refused(1000,
                       GUARDED "unique_session_name: \"a\"",
                       SESSION_E_BUSY,
                       "started 299 s ago; the next one may start in 2 s");
        /* Other names, other users, and who is watched. */
        try_session(1000, GUARDED "unique_session_name: \"b\"", 0);
        fixture_free_session(try_session(1001, GUARDED "unique_session_name: \"a\"", 0));
        fixture_free_session(try_session(1000, PLAIN "unique_session_name: \"a\"", 0));
        fixture_advance(&f, 1 * S);
        try_session(1000, GUARDED "unique_session_name: \"a\"", 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_no_name_is_a_name_for_the_distance) {
        fixture_init(&f);
        fixture_free_session(try_session(1000, GUARDED, 0));
        assert_refused(1000, GUARDED, SESSION_E_BUSY, "named \"\" started");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_refused_session_does_not_count_for_the_distance) {
        fixture_init(&f);
        assert_refused(1000, GUARDED "buffers { size_kb: 4194305 }", SESSION_E_LIMIT, "size_kb");
        assert_refused(1000, GUARDED "output_path: \"/x\"", SESSION_E_CONFIG, "output_path");
        try_session(1000, GUARDED, 0);
        fixture_deinit(&f);
}
END_TEST

static FakeConsumer *start_guarded(unsigned i) {
        char config[256];

        sprintf(config, GUARDED "unique_session_name: \"s%u\"", i);
        return try_session(1000, config, 0);
}

START_TEST(test_names_of_unattended_sessions_are_limited_and_forgotten) {
        fixture_init(&f);
        for (unsigned i = 0; i < SERVICE_RECENT_SESSIONS_PER_USER_MAX; i++) {
                FakeConsumer *consumer = start_guarded(i);

                fixture_free_session(consumer);
                free(consumer);
                f.n_consumers--;
        }
        assert_refused(1000,
                       GUARDED "unique_session_name: \"more\"",
                       SESSION_E_LIMIT,
                       "SERVICE_RECENT_SESSIONS_PER_USER_MAX");
        try_session(1001, GUARDED "unique_session_name: \"more\"", 0);
        fixture_advance(&f, SESSION_GUARDED_GAP_NS);
        start_guarded(0);
        fixture_deinit(&f);
}
END_TEST

/*
 * Lockdown
 */

static int try_producer(uid_t uid) {
        static const ProducerOps ops;
        Producer *producer = NULL;
        int r = producer_new(&producer,
                             f.service,
                             &(Identity){ .uid = uid },
                             "p",
                             &(ProducerOptions){},
                             &ops,
                             NULL);

        producer_free(producer);
        return r;
}

START_TEST(test_lockdown_admits_the_systems_own_producers_only) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = try_session(0, PLAIN "lockdown_mode: LOCKDOWN_SET", 0);
        ck_assert(service_is_locked_down(f.service));
        ck_assert_int_eq(try_producer(1000), PRODUCER_E_LOCKDOWN);
        ck_assert_int_eq(try_producer(f.info.uid), 0);
        ck_assert_int_eq(try_producer(f.info.probes_uid), 0);
        ck_assert_int_eq(try_producer(0), 0);
        /* It lasts until it is cleared; not to say anything changes nothing. */
        fixture_free_session(consumer);
        fixture_free_session(try_session(0, PLAIN, 0));
        ck_assert_int_eq(try_producer(1000), PRODUCER_E_LOCKDOWN);
        try_session(0, PLAIN "lockdown_mode: LOCKDOWN_CLEAR", 0);
        ck_assert(!service_is_locked_down(f.service));
        ck_assert_int_eq(try_producer(1000), 0);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_lockdown_leaves_out_who_is_there_already) {
        FakeProducer *app;
        FakeConsumer *before, *consumer;

        fixture_init(&f);
        app = fixture_connect_producer(&f, 1000, "app", "track_event");
        before = fixture_start_session(&f, 1000, PLAIN);
        consumer = fixture_start_session_with(&f,
                                              &(SessionOptions){ .scope = SESSION_SCOPE_SYSTEM },
                                              PLAIN "lockdown_mode: LOCKDOWN_SET");
        ck_assert_uint_eq(app->n_instances, 1);
        ck_assert_uint_eq(session_n_instances(consumer->session), 1);
        ck_assert_int_eq(session_state(before->session), SESSION_STARTED);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_refused_session_does_not_lock_down) {
        fixture_init(&f);
        assert_refused(0,
                       PLAIN "lockdown_mode: LOCKDOWN_SET buffers { size_kb: 4194304 }",
                       SESSION_E_LIMIT,
                       "KiB");
        assert_refused(1000, PLAIN "lockdown_mode: LOCKDOWN_SET", SESSION_E_DENIED, "root");
        ck_assert(!service_is_locked_down(f.service));
        fixture_deinit(&f);
}
END_TEST

TEST_MAIN("session-others",
          test_a_semaphore_of_one_admits_one,
          test_each_user_has_semaphores,
          test_each_user_has_names,
          test_a_stopped_session_of_another_user_hides_none,
          test_of_stopped_sessions_of_a_name_the_youngest_is_found,
          test_root_finds_sessions_of_others_behind_its_own,
          test_a_name_that_several_users_have_is_ambiguous_for_root,
          test_one_of_several_semaphores_suffices_to_refuse,
          test_the_strictest_holder_of_a_semaphore_counts,
          test_the_newcomer_to_a_semaphore_may_be_the_strictest,
          test_a_semaphore_admits_as_many_as_it_says,
          test_a_stopped_session_holds_no_semaphore,
          test_a_clone_is_in_nobodys_way,
          test_semaphores_that_make_no_sense_are_refused,
          test_an_exclusive_session_ends_the_others_and_keeps_their_data,
          test_an_exclusive_session_lets_in_only_who_asks_for_more,
          test_an_exclusive_session_that_is_refused_ends_nobody,
          test_unattended_sessions_of_one_name_keep_their_distance,
          test_no_name_is_a_name_for_the_distance,
          test_a_refused_session_does_not_count_for_the_distance,
          test_names_of_unattended_sessions_are_limited_and_forgotten,
          test_lockdown_admits_the_systems_own_producers_only,
          test_lockdown_leaves_out_who_is_there_already,
          test_a_refused_session_does_not_lock_down)
