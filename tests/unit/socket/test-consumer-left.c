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

TEST_MAIN("consumer-left",
          test_a_session_that_was_left_behind_gives_way,
          test_a_session_that_records_gives_way_to_none)
