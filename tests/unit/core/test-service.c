/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The registries of the service, and what is limited for all users together. */

#include "core/model/service.h"
#include "core/model/session.h"
#include "fixture.h"

static Fixture f;

#define PLAIN CONFIG_ONE("track_event")

START_TEST(test_sessions_and_producers_are_found_and_walked_in_order) {
        FakeProducer *a, *b;
        FakeConsumer *first, *second;
        Producer *producer;

        fixture_init(&f);
        ck_assert_ptr_null(service_next_session(f.service, NULL));
        ck_assert_ptr_null(service_next_producer(f.service, NULL));
        a = fixture_connect_producer(&f, 1000, "a", "track_event");
        b = fixture_connect_producer(&f, 1001, "b", NULL);
        first = fixture_start_session(&f, 1000, PLAIN);
        second = fixture_start_session(&f, 1001, PLAIN);
        ck_assert_uint_eq(service_n_sessions(f.service), 2);
        ck_assert_uint_eq(service_n_producers(f.service), 2);
        ck_assert_ptr_eq(service_next_session(f.service, NULL), first->session);
        ck_assert_ptr_eq(service_next_session(f.service, first->session), second->session);
        ck_assert_ptr_null(service_next_session(f.service, second->session));
        ck_assert_ptr_eq(service_find_session(f.service, session_id(second->session)),
                         second->session);
        ck_assert_ptr_null(service_find_session(f.service, session_id(second->session) + 1));

        producer = service_next_producer(f.service, NULL);
        ck_assert_ptr_eq(producer, a->producer);
        ck_assert_str_eq(producer_name(producer), "a");
        ck_assert_str_eq(producer_source_name(producer, 0), "track_event");
        ck_assert_uint_eq(producer_identity(producer)->uid, 1000);
        ck_assert_ptr_eq(service_next_producer(f.service, producer), b->producer);
        ck_assert_uint_ne(producer_id(a->producer), producer_id(b->producer));
        ck_assert_ptr_null(service_next_producer(f.service, b->producer));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_activatables_are_copied) {
        char name[] = "probes", source[] = "linux.ftrace";
        const char *const sources[] = { source, NULL };
        const Activatable *activatables;
        size_t n;

        fixture_init(&f);
        ck_assert_int_eq(service_add_activatable(f.service, name, sources), 0);
        name[0] = source[0] = 'x';
        activatables = service_activatables(f.service, &n);
        ck_assert_uint_eq(n, 1);
        ck_assert_str_eq(activatables[0].name, "probes");
        ck_assert_str_eq(activatables[0].sources[0], "linux.ftrace");
        ck_assert_ptr_null(activatables[0].sources[1]);
        fixture_deinit(&f);
}
END_TEST

static void add_probes(void) {
        static const char *const sources[] = { "linux.ftrace", "linux.perf", NULL };

        ck_assert_int_eq(service_add_activatable(f.service, "probes", sources), 0);
}

START_TEST(test_listing_sources_starts_their_producers_and_waits_for_all_sources) {
        FakeProducer *probes;

        fixture_init(&f);
        add_probes();
        ck_assert(!service_awaits_producers(f.service));
        service_activate_all(f.service, f.now);
        service_activate_all(f.service, f.now);
        ck_assert_uint_eq(f.n_activations[0], 1);
        ck_assert(service_awaits_producers(f.service));
        probes = fixture_connect_producer(&f, 0, "probes", "linux.ftrace");
        ck_assert(service_awaits_producers(f.service));
        fixture_add_source(probes, "linux.perf", &(SourceOptions){});
        ck_assert(!service_awaits_producers(f.service));
        service_activate_all(f.service, f.now);
        ck_assert_uint_eq(f.n_activations[0], 1);
        ck_assert(!service_awaits_producers(f.service));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_producer_that_does_not_come_is_not_awaited_for_ever_and_not_asked_again_at_once) {
        fixture_init(&f);
        add_probes();
        service_activate_all(f.service, f.now);
        ck_assert_uint_eq(service_next_deadline(f.service), f.now + SERVICE_COMING_NS);
        fixture_advance(&f, SERVICE_COMING_NS);
        ck_assert(!service_awaits_producers(f.service));
        ck_assert_ptr_nonnull(
                strstr(service_activation_error(f.service, "linux.perf"), "did not offer it"));
        ck_assert_ptr_null(service_activation_error(f.service, "track_event"));
        service_activate_all(f.service, f.now);
        ck_assert_uint_eq(f.n_activations[0], 1);
        ck_assert_uint_eq(service_next_deadline(f.service), UINT64_MAX);

        fixture_advance(&f, SERVICE_RETRY_NS);
        service_activate_all(f.service, f.now);
        ck_assert_uint_eq(f.n_activations[0], 2);
        service_activation_failed(f.service, 0, "the unit\nis masked", f.now);
        ck_assert(!service_awaits_producers(f.service));
        ck_assert_str_eq(service_activation_error(f.service, "linux.ftrace"), "the unit is masked");
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_programs_are_awaited_without_anybody_being_started) {
        fixture_init_fresh(&f);
        add_probes();
        service_gather(f.service, f.now);
        ck_assert(service_awaits_producers(f.service));
        ck_assert_uint_eq(f.n_activations[0], 0);
        fixture_advance(&f, SERVICE_SETTLE_NS);
        ck_assert(!service_awaits_producers(f.service));
        service_gather(f.service, f.now);
        ck_assert(!service_awaits_producers(f.service));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_a_fresh_service_waits_for_programs_that_see_it) {
        fixture_init_fresh(&f);
        service_activate_all(f.service, f.now);
        ck_assert(service_awaits_producers(f.service));
        fixture_advance(&f, SERVICE_SETTLE_NS);
        ck_assert(!service_awaits_producers(f.service));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_why_a_source_cannot_record_is_kept_as_one_clean_line) {
        char text[2 * SOURCE_UNAVAILABLE_MAX];
        SourceOptions options = { .unavailable = "no\ttracefs\x1b[2J \xc2\x9b\xff" };
        FakeProducer *probes;

        fixture_init(&f);
        probes = fixture_connect_producer(&f, 0, "probes", NULL);
        fixture_add_source(probes, "linux.ftrace", &options);
        ck_assert_str_eq(producer_source_unavailable(probes->producer, 0), "no tracefs [2J   ?");
        memset(text, 'x', sizeof(text) - 1);
        text[sizeof(text) - 1] = '\0';
        options.unavailable = text;
        fixture_add_source(probes, "linux.ftrace", &options);
        ck_assert_uint_eq(strlen(producer_source_unavailable(probes->producer, 0)),
                          SOURCE_UNAVAILABLE_MAX);
        options.unavailable = NULL;
        fixture_add_source(probes, "linux.ftrace", &options);
        ck_assert_ptr_null(producer_source_unavailable(probes->producer, 0));
        fixture_deinit(&f);
}
END_TEST

static Session *taken[SERVICE_SESSIONS_MAX];
static size_t n_sessions;
static SessionError session_why;

static int take_session(uid_t uid) {
        const SessionOptions options = { .owner = { .uid = uid } };
        static const SessionOps ops = {};
        ConfigError config_error;
        Config *config;
        Session *session;
        int r;

        ck_assert_int_eq(config_new_from_text(&config, PLAIN, &config_error), 0);
        r = session_new(&session, f.service, config, &options, &ops, NULL, &session_why, f.now);
        if (r == 0)
                taken[n_sessions++] = session;
        else
                config_free(config);
        return r;
}

/* As many as there may be. */
static size_t take_sessions(uid_t uid) {
        size_t n = 0;

        while (take_session(uid) == 0)
                n++;
        return n;
}

static void free_sessions(void) {
        while (n_sessions > 0)
                session_free(taken[--n_sessions]);
        ck_assert(list_is_empty(&f.service->quota.owners));
        ck_assert_uint_eq(f.service->n_buffers, 0);
        fixture_deinit(&f);
}

START_TEST(test_many_users_with_all_they_may_have_leave_a_share_for_the_others) {
        uid_t uid = 1000;

        fixture_init(&f);
        while (take_sessions(uid) == SERVICE_SESSIONS_PER_USER_MAX)
                uid++;
        ck_assert_uint_gt(uid, 1010);
        ck_assert_ptr_nonnull(strstr(session_why.message, "SERVICE_SESSIONS_MAX, 256"));
        ck_assert_ptr_nonnull(strstr(session_why.message, "kept for users with less than 2"));
        for (uid_t other = 5000; other < 5010; other++)
                ck_assert_uint_eq(take_sessions(other), SERVICE_SESSIONS_FIRST);
        free_sessions();
}
END_TEST

START_TEST(test_root_is_never_locked_out) {
        fixture_init(&f);
        for (uid_t uid = 1000; uid < 3000; uid++)
                take_sessions(uid);
        ck_assert_int_eq(take_session(3000), SESSION_E_LIMIT);
        ck_assert_uint_eq(take_sessions(0), SERVICE_SESSIONS_PER_USER_MAX);
        ck_assert_ptr_nonnull(strstr(session_why.message, "user 0 has 8 sessions"));
        free_sessions();
}
END_TEST

START_TEST(test_subordinate_uids_have_one_share_with_their_user) {
        fixture_init(&f);
        for (uid_t i = 0; i < 8; i++)
                take_sessions(FIXTURE_SUBORDINATE_UID + i);
        ck_assert_uint_eq(n_sessions, SERVICE_SESSIONS_PER_USER_MAX);
        ck_assert_ptr_nonnull(strstr(session_why.message, "user 1000 has 8 sessions"));
        ck_assert_ptr_nonnull(strstr(session_why.message, "SERVICE_SESSIONS_PER_USER_MAX"));
        ck_assert_int_eq(take_session(1000), SESSION_E_LIMIT);
        ck_assert_uint_eq(take_sessions(1001), SERVICE_SESSIONS_PER_USER_MAX);
        ck_assert_uint_eq(take_sessions(0), SERVICE_SESSIONS_PER_USER_MAX);
        free_sessions();
}
END_TEST

START_TEST(test_producers_of_subordinate_uids_count_for_their_user) {
        FakeProducer *mine, *theirs, *other;

        fixture_init(&f);
        mine = fixture_connect_producer(&f, 1000, "mine", "track_event");
        theirs = fixture_connect_producer(&f, FIXTURE_SUBORDINATE_UID, "theirs", "track_event");
        other = fixture_connect_producer(&f, 1001, "other", "track_event");
        ck_assert(!quota_has_room(
                &f.service->quota, 1000, QUOTA_PRODUCERS, SERVICE_PRODUCERS_PER_USER_MAX - 1));
        ck_assert(quota_has_room(
                &f.service->quota, 1000, QUOTA_PRODUCERS, SERVICE_PRODUCERS_PER_USER_MAX - 2));
        fixture_disconnect_producer(mine);
        fixture_disconnect_producer(theirs);
        fixture_disconnect_producer(other);
        ck_assert(list_is_empty(&f.service->quota.owners));
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_time_does_not_go_back) {
        FakeConsumer *consumer;

        fixture_init(&f);
        consumer = fixture_start_session(&f, 1000, PLAIN "duration_ms: 1000");
        service_tick(f.service, f.now + 500 * MS);
        service_tick(f.service, 1);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        session_stop(consumer->session, "requested", 1);
        ck_assert_uint_eq(session_stopped_at(consumer->session), f.now + 500 * MS);
        fixture_deinit(&f);
}
END_TEST

START_TEST(test_states_have_the_names_of_the_bus_interface) {
        static const char *const sessions[] = { "configured", "starting", "started",
                                                "flushing",   "stopping", "stopped" };
        static const char *const instances[] = { "configured", "starting", "started",
                                                 "stopping",   "stopped",  "missing" };

        ck_assert_uint_eq(ARRAY_SIZE(sessions), _SESSION_STATE_N);
        ck_assert_uint_eq(ARRAY_SIZE(instances), _INSTANCE_STATE_N);
        for (size_t i = 0; i < ARRAY_SIZE(sessions); i++)
                ck_assert_str_eq(session_state_name(i), sessions[i]);
        for (size_t i = 0; i < ARRAY_SIZE(instances); i++)
                ck_assert_str_eq(instance_state_name(i), instances[i]);
}
END_TEST

TEST_MAIN("service",
          test_sessions_and_producers_are_found_and_walked_in_order,
          test_activatables_are_copied,
          test_listing_sources_starts_their_producers_and_waits_for_all_sources,
          test_a_producer_that_does_not_come_is_not_awaited_for_ever_and_not_asked_again_at_once,
          test_programs_are_awaited_without_anybody_being_started,
          test_a_fresh_service_waits_for_programs_that_see_it,
          test_why_a_source_cannot_record_is_kept_as_one_clean_line,
          test_many_users_with_all_they_may_have_leave_a_share_for_the_others,
          test_root_is_never_locked_out,
          test_subordinate_uids_have_one_share_with_their_user,
          test_producers_of_subordinate_uids_count_for_their_user,
          test_time_does_not_go_back,
          test_states_have_the_names_of_the_bus_interface)
