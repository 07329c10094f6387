/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sessions of consumers of Perfetto's protocol that their user has left behind, when he wants another one. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "consumer-world.h"
#include "core/model/service-limits.h"

#define CONFIG                                                                                     \
        "buffers { size_kb: 256 } data_sources { config { name: \"com.example\" } } duration_ms: " \
        "60000"

static uint64_t call_key(ConsumerClient *client, ConsumerMethod method, const char *key) {
        wire_put_string(consumer_message(client), 1, key);
        return consumer_call(client, method);
}

static bool has_key(const char *key) {
        ConsumerClient other;
        bool has;

        world_connect(&other);
        has = world_reply(&other, call_key(&other, CONSUMER_ATTACH, key))->success;
        consumer_client_deinit(&other);
        world_run(&consumer);
        return has;
}

/* The oldest first, and none that still records. */
CONSUMER_WORLD_TEST(test_a_session_that_was_left_behind_gives_way) {
        char key[32];

        for (unsigned i = 0; i < SERVICE_SESSIONS_PER_USER_MAX; i++) {
                world_enable(&consumer, CONFIG, -1);
                if (i > 0)
                        world_success(&consumer, consumer_call(&consumer, CONSUMER_DISABLE));
                snprintf(key, sizeof(key), "key %u", i);
                world_success(&consumer, call_key(&consumer, CONSUMER_DETACH, key));
                usleep(2000); /* they are as old as they have stopped */
        }
        ck_assert_uint_eq(service_n_sessions(f.service), SERVICE_SESSIONS_PER_USER_MAX);
        world_enable(&consumer, CONFIG, -1);
        world_success(&consumer, call_key(&consumer, CONSUMER_DETACH, "new"));
        ck_assert_uint_eq(service_n_sessions(f.service), SERVICE_SESSIONS_PER_USER_MAX);
        ck_assert(!has_key("key 1"));
        ck_assert(has_key("key 0"));
        ck_assert(has_key("key 2"));
        ck_assert(has_key("new"));
}

CONSUMER_WORLD_TEST(test_a_session_that_records_gives_way_to_none) {
        uint64_t enable;
        WireField why;
        char key[32];

        for (unsigned i = 0; i < SERVICE_SESSIONS_PER_USER_MAX; i++) {
                world_enable(&consumer, CONFIG, -1);
                snprintf(key, sizeof(key), "key %u", i);
                world_success(&consumer, call_key(&consumer, CONSUMER_DETACH, key));
        }
        enable = world_enable(&consumer, CONFIG, -1);
        ck_assert(consumer_reply_field(world_success(&consumer, enable), 3, &why));
        ck_assert_ptr_nonnull(memmem(why.data, why.n_bytes, "SERVICE_SESSIONS_PER_USER_MAX", 29));
        ck_assert_uint_eq(service_n_sessions(f.service), SERVICE_SESSIONS_PER_USER_MAX);
        ck_assert(has_key("key 0"));
}

/* One that somebody has stays; one that was left behind goes a while after it has ended. */
CONSUMER_WORLD_TEST(test_what_nobody_fetches_is_forgotten) {
        const Session *session;
        uint64_t deadline;

        world_enable(&consumer, CONFIG, -1);
        world_run(&consumer);
        ck_assert_uint_eq(ports_next_deadline(ports), UINT64_MAX);
        session = service_next_session(f.service, NULL);
        ck_assert_ptr_nonnull(session);
        world_success(&consumer, call_key(&consumer, CONSUMER_DETACH, "key"));
        ck_assert_uint_eq(ports_next_deadline(ports), UINT64_MAX);
        ports_stop_sessions(ports, "service-exit");
        ck_assert(!ports_is_stopped(ports));
        world_run(&consumer);
        ck_assert(ports_is_stopped(ports));
        ck_assert_str_eq(session_stop_reason(session), "service-exit");
        deadline = ports_next_deadline(ports);
        ck_assert_uint_eq(deadline, session_stopped_at(session) + SESSION_LINGER_NS);
        ports_tick(ports, deadline - 1);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        ck_assert(ports_is_busy(ports));
        ports_tick(ports, deadline);
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        ck_assert_uint_eq(ports_next_deadline(ports), UINT64_MAX);
}

/*
 * What the process before has left
 */

/* It was detached under the key, or somebody was attached to it then. */
static void come_back(const char *key, bool was_attached) {
        const SessionOptions options = {
                .owner = { .uid = getuid() },
                .detached = !was_attached,
        };
        SessionError session_error = {};
        ConfigError config_error;
        OwnedSession *owned;
        Config *config;

        ck_assert_int_eq(config_new_from_text(&config, CONFIG, &config_error), 0);
        ck_assert_int_eq(ports_session_allocate(ports, &owned), 0);
        ck_assert_int_eq(owned_session_new(owned, f.service, config, &options, &session_error), 0);
        ck_assert_int_eq(ports_session_publish(owned, key, was_attached), 0);
        ck_assert_str_eq(ports_session_key(owned), key);
        world_serve();
}

CONSUMER_WORLD_TEST(test_a_session_of_the_process_before_has_its_key) {
        come_back("key", false);
        ck_assert_uint_eq(ports_next_deadline(ports), UINT64_MAX);
        ck_assert(!has_key("another"));
        ck_assert(has_key("key"));
        ck_assert_uint_eq(service_n_sessions(f.service),
                          0); /* its connection has it, and is gone */
}

CONSUMER_WORLD_TEST(test_a_session_waits_for_its_consumer) {
        const uint64_t before = owned_sessions_now(ports_sessions(ports));
        uint64_t deadline;

        come_back("key", true);
        deadline = ports_next_deadline(ports);
        ck_assert_uint_ge(deadline, before + CONSUMER_AWAIT_NS);
        ck_assert_uint_le(deadline, owned_sessions_now(ports_sessions(ports)) + CONSUMER_AWAIT_NS);
        ports_tick(ports, deadline - 1);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        ports_tick(ports, deadline);
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
}

CONSUMER_WORLD_TEST(test_a_session_that_was_attached_to_again_waits_no_more) {
        come_back("key", true);
        world_success(&consumer, call_key(&consumer, CONSUMER_ATTACH, "key"));
        ck_assert_uint_eq(ports_next_deadline(ports), UINT64_MAX);
        world_success(&consumer, call_key(&consumer, CONSUMER_DETACH, "another"));
        ck_assert(!has_key("key"));
        ck_assert(has_key("another"));
}

/* In the next process the two could not be told apart. */
CONSUMER_WORLD_TEST(test_a_key_is_that_of_the_session_that_was_last_left_under_it) {
        OwnedSession *first, *second;
        ConsumerClient other;

        world_enable(&consumer, CONFIG, -1);
        world_run(&consumer);
        first = list_first(&ports_sessions(ports)->all, OwnedSession, link);
        ck_assert_ptr_null(ports_session_key(first));
        world_success(&consumer, call_key(&consumer, CONSUMER_DETACH, "key"));
        ck_assert_str_eq(ports_session_key(first), "key");
        world_success(&consumer, call_key(&consumer, CONSUMER_ATTACH, "key"));
        ck_assert_str_eq(ports_session_key(first), "key");

        world_connect(&other);
        world_enable(&other, CONFIG, -1);
        world_success(&other, call_key(&other, CONSUMER_DETACH, "key"));
        second = list_entry(ports_sessions(ports)->all.previous, OwnedSession, link);
        ck_assert_ptr_ne(first, second);
        ck_assert_str_eq(ports_session_key(second), "key");
        ck_assert_ptr_null(ports_session_key(first));
        consumer_client_deinit(&other);
        world_run(&consumer);
}

CONSUMER_WORLD_TEST(test_calls_are_counted) {
        const uint64_t n_before = ports_n_calls(ports);

        for (unsigned i = 0; i < 3; i++)
                world_reply(&consumer, consumer_call(&consumer, CONSUMER_STATS));
        ck_assert_uint_eq(ports_n_calls(ports), n_before + 3);
}

TEST_MAIN("consumer-left",
          test_a_session_that_was_left_behind_gives_way,
          test_a_session_that_records_gives_way_to_none,
          test_what_nobody_fetches_is_forgotten,
          test_a_session_of_the_process_before_has_its_key,
          test_a_session_waits_for_its_consumer,
          test_a_session_that_was_attached_to_again_waits_no_more,
          test_a_key_is_that_of_the_session_that_was_last_left_under_it,
          test_calls_are_counted)
