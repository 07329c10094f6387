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
          test_calls_are_counted)
