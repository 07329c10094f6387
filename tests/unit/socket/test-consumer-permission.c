/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a consumer needs polkit for: the call waits for the answer, and so does all that the peer says after it. */

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "consumer-world.h"
#include "core/model/policy.h"
#include "owner/permission.h"
#include "socket/consumer/consumer-private.h"

#define SYSTEM_CONFIG CONFIG_ONE("linux.ftrace") "duration_ms: 60000"
#define USER          1000

struct AccessQuestion {
        AccessDone done;
        void *userdata;
};

/* The question that waits, how many were asked, and how many were taken back. */
static AccessQuestion waiting;
static unsigned n_asked, n_quiet, n_cancelled;
static unsigned last_need;
static uid_t last_uid;

static int on_ask(AccessQuestion **ret, void *host, const AccessAsk *ask, AccessRefusal *refusal) {
        ck_assert_ptr_null(waiting.done);
        ck_assert(ask->is_interactive);
        ck_assert_ptr_nonnull(ask->config);
        waiting = (AccessQuestion){ ask->done, ask->userdata };
        last_need = ask->need;
        last_uid = ask->peer->identity.uid;
        n_asked++;
        *ret = &waiting;
        return 0;
}

static int on_ask_quietly(AccessQuestion **ret,
                          void *host,
                          const AccessPeer *peer,
                          AccessDone done,
                          void *userdata) {
        ck_assert_ptr_null(waiting.done);
        waiting = (AccessQuestion){ done, userdata };
        last_uid = peer->identity.uid;
        n_quiet++;
        *ret = &waiting;
        return 0;
}

static AccessQuestion *on_cancel(AccessQuestion *question) {
        ck_assert_ptr_eq(question, &waiting);
        ck_assert_ptr_nonnull(waiting.done);
        waiting = (AccessQuestion){};
        n_cancelled++;
        return NULL;
}

static int
on_ask_refused(AccessQuestion **ret, void *host, const AccessAsk *ask, AccessRefusal *refusal) {
        access_refuse(refusal, ACCESS_LIMIT, "too much is asked");
        return ACCESS_E_REFUSED;
}

static void answer(bool is_granted) {
        static const AccessRefusal refusal = { ACCESS_DENIED, "a person said no" };
        const AccessQuestion question = waiting;

        ck_assert_ptr_nonnull(question.done);
        waiting = (AccessQuestion){};
        question.done(question.userdata, is_granted ? NULL : &refusal);
        world_run(&consumer);
}

static const AccessOps ops = {
        .ask = on_ask,
        .ask_quietly = on_ask_quietly,
        .cancel = on_cancel,
};

/* Root needs no permission, so that root is a user while this runs. A process that changes its user cannot be looked at
 * by others, which would be the end of leak detection, unless it says so. */
static void set_user(uid_t uid) {
        if (getuid() != 0)
                return;
        ck_assert_int_eq(seteuid(uid), 0);
        ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
}

static void begin(const AccessOps *table) {
        waiting = (AccessQuestion){};
        n_asked = n_quiet = n_cancelled = 0;
        consumer_client_deinit(&consumer);
        ports_set_access(ports, &(AccessHost){ .ops = table });
        set_user(USER);
        world_connect(&consumer);
}

static void end(void) {
        ck_assert_ptr_null(waiting.done);
        set_user(0);
}

/* What is said after the call is heard once that is decided. */
static uint64_t ask_for_stats(void) {
        uint64_t request = consumer_call(&consumer, CONSUMER_STATS);

        world_run(&consumer);
        ck_assert_ptr_null(consumer_reply(&consumer, request, 0));
        return request;
}

CONSUMER_WORLD_TEST(test_a_session_that_needs_it_starts_when_it_is_granted) {
        uint64_t stats;

        begin(&ops);
        world_enable(&consumer, SYSTEM_CONFIG, -1);
        stats = ask_for_stats();
        ck_assert_uint_eq(n_asked, 1);
        ck_assert_uint_eq(last_need, POLICY_NEEDS_TRACE_SYSTEM);
        ck_assert_uint_eq(last_uid, geteuid());
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        answer(true);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        world_success(&consumer, stats);
        ck_assert_uint_eq(n_asked, 1);
        end();
}

CONSUMER_WORLD_TEST(test_a_session_that_is_denied_is_none_and_the_peer_goes_on) {
        uint64_t enable, stats;

        begin(&ops);
        enable = world_enable(&consumer, SYSTEM_CONFIG, -1);
        stats = ask_for_stats();
        answer(false);
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        ck_assert_ptr_nonnull(world_reply(&consumer, enable));
        ck_assert(!world_reply(&consumer, stats)->success); /* of no session */
        world_enable(&consumer, CONFIG_ONE("com.example") "duration_ms: 60000", -1);
        world_run(&consumer);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        ck_assert_uint_eq(n_asked, 1);
        end();
}

CONSUMER_WORLD_TEST(test_a_session_that_may_not_even_be_asked_about_is_refused) {
        static const AccessOps refusing = { .ask = on_ask_refused };
        uint64_t enable;

        begin(&refusing);
        enable = world_enable(&consumer, SYSTEM_CONFIG, -1);
        ck_assert_ptr_nonnull(world_reply(&consumer, enable));
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        end();
}

CONSUMER_WORLD_TEST(test_questions_of_who_leaves_are_taken_back) {
        begin(&ops);
        world_enable(&consumer, SYSTEM_CONFIG, -1);
        world_run(&consumer);
        ck_assert_uint_eq(n_asked, 1);
        ports = ports_free(ports);
        ck_assert_uint_eq(n_cancelled, 1);
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        end();
}

static uint64_t detach(const char *key) {
        wire_put_string(consumer_message(&consumer), 1, key);
        return consumer_call(&consumer, CONSUMER_DETACH);
}

/* Of a session that has no end of its own. */
static void begin_endless(void) {
        begin(&ops);
        world_enable(&consumer, CONFIG_ONE("com.example"), -1);
        world_run(&consumer);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        ck_assert_uint_eq(n_asked, 0);
}

CONSUMER_WORLD_TEST(test_an_endless_session_is_left_when_that_is_granted) {
        uint64_t request;

        begin_endless();
        request = detach("key");
        world_run(&consumer);
        ck_assert_ptr_null(consumer_reply(&consumer, request, 0));
        ck_assert_uint_eq(n_asked, 1);
        ck_assert_uint_eq(last_need, POLICY_NEEDS_DETACH);
        answer(true);
        world_success(&consumer, request);
        consumer_client_deinit(&consumer);
        world_serve();
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        world_connect(&consumer);
        end();
}

CONSUMER_WORLD_TEST(test_an_endless_session_that_may_not_be_left_ends_with_its_consumer) {
        uint64_t request;

        begin_endless();
        request = detach("key");
        world_run(&consumer);
        answer(false);
        ck_assert(!world_reply(&consumer, request)->success);
        world_success(&consumer, consumer_call(&consumer, CONSUMER_STATS));
        consumer_client_deinit(&consumer);
        world_serve();
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        world_connect(&consumer);
        end();
}

static int
on_ask_in_vain(AccessQuestion **ret, void *host, const AccessAsk *ask, AccessRefusal *refusal) {
        return -ENOMEM;
}

CONSUMER_WORLD_TEST(test_a_question_that_cannot_be_asked_costs_the_connection) {
        static const AccessOps failing = { .ask = on_ask_in_vain, .cancel = on_cancel };

        begin(&failing);
        world_enable(&consumer, CONFIG_ONE("com.example"), -1);
        world_run(&consumer);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        detach("key");
        world_run(&consumer);
        ck_assert(consumer.is_closed);
        ck_assert_uint_eq(service_n_sessions(f.service), 0);
        consumer_client_deinit(&consumer);
        world_connect(&consumer);
        end();
}

CONSUMER_WORLD_TEST(test_a_key_is_taken_by_who_has_it_first) {
        ConsumerClient other;
        uint64_t request;

        begin_endless();
        request = detach("key");
        world_run(&consumer);
        world_connect(&other);
        world_enable(&other, CONFIG_ONE("com.example") "duration_ms: 60000", -1);
        wire_put_string(consumer_message(&other), 1, "key");
        world_success(&other, consumer_call(&other, CONSUMER_DETACH));
        answer(true);
        ck_assert(!world_reply(&consumer, request)->success);
        consumer_client_deinit(&other);
        end();
}

/* Its session's name is its user's, as is that of any other user's session. */
CONSUMER_WORLD_TEST(test_a_user_clones_the_own_session_of_a_name) {
        ConsumerClient other;
        WireField field;

        begin_endless();
        fixture_start_session(
                &f, geteuid() + 1, CONFIG_ONE("com.example") "unique_session_name: \"n\"");
        world_connect(&other);
        wire_put_string(consumer_message(&other), 4, "n");
        ck_assert(consumer_reply_field(
                world_success(&other, consumer_call(&other, CONSUMER_CLONE)), 1, &field));
        ck_assert_uint_eq(field.value, 0);
        fixture_start_session(
                &f, geteuid(), CONFIG_ONE("com.example") "unique_session_name: \"n\"");
        wire_put_string(consumer_message(&other), 4, "n");
        wire_put_bool(&other.message, 2, true); /* skip_trace_filter */
        ck_assert(consumer_reply_field(
                world_success(&other, consumer_call(&other, CONSUMER_CLONE)), 1, &field));
        ck_assert_uint_eq(field.value, geteuid() == 0);
        if (field.value == 0) {
                wire_put_string(consumer_message(&other), 4, "n");
                ck_assert(consumer_reply_field(
                        world_success(&other, consumer_call(&other, CONSUMER_CLONE)), 1, &field));
                ck_assert_uint_eq(field.value, 1);
        }
        consumer_client_deinit(&other);
        end();
}

/* What was possible when it was asked for may not be when it is granted. */
CONSUMER_WORLD_TEST(test_a_session_that_is_granted_too_late_is_refused) {
        WireField why;
        uint64_t enable;

        begin(&ops);
        enable = world_enable(&consumer, SYSTEM_CONFIG " unique_session_name: \"taken\"", -1);
        world_run(&consumer);
        ck_assert_uint_eq(n_asked, 1);
        fixture_start_session(
                &f, geteuid(), CONFIG_ONE("com.example") "unique_session_name: \"taken\"");
        answer(true);
        ck_assert(consumer_reply_field(world_success(&consumer, enable), 3, &why));
        ck_assert_uint_gt(why.n_bytes, 0);
        ck_assert_uint_eq(service_n_sessions(f.service), 1);
        end();
}

static uint64_t query(void) {
        return consumer_call(&consumer, CONSUMER_QUERY_STATE);
}

/* Producers that run only when they are asked are started for those alone who may record what these say. */
static void query_with_answer(bool is_granted, unsigned n_activations) {
        static const char *const sources[] = { "linux.ftrace", NULL };
        uint64_t one, two;

        ck_assert_int_eq(service_add_activatable(f.service, "probes", sources), 0);
        begin(&ops);
        one = query();
        two = query();
        world_run(&consumer);
        ck_assert_uint_eq(n_quiet, 1); /* for both */
        ck_assert_ptr_null(consumer_reply(&consumer, one, 0));
        answer(is_granted);
        ck_assert_uint_eq(f.n_activations[0], n_activations);
        for (unsigned i = 0; i < 100 && !consumer_reply(&consumer, two, 0); i++) {
                fixture_advance(&f, 1 * S);
                world_run(&consumer);
        }
        ck_assert(consumer_reply(&consumer, one, 0)->success);
        ck_assert(consumer_reply(&consumer, two, 0)->success);
        ck_assert_uint_eq(n_asked, 0);
        end();
}

CONSUMER_WORLD_TEST(test_a_query_starts_producers_for_who_may_record_them) {
        query_with_answer(true, 1);
}

CONSUMER_WORLD_TEST(test_a_query_starts_nobody_for_who_may_not) {
        query_with_answer(false, 0);
}

CONSUMER_WORLD_TEST(test_a_query_of_who_leaves_is_taken_back) {
        static const char *const sources[] = { "linux.ftrace", NULL };

        ck_assert_int_eq(service_add_activatable(f.service, "probes", sources), 0);
        begin(&ops);
        query();
        world_run(&consumer);
        ck_assert_uint_eq(n_quiet, 1);
        ports = ports_free(ports);
        ck_assert_uint_eq(n_cancelled, 1);
        end();
}

TEST_MAIN("socket-consumer-permission",
          test_a_session_that_needs_it_starts_when_it_is_granted,
          test_a_session_that_is_denied_is_none_and_the_peer_goes_on,
          test_a_session_that_may_not_even_be_asked_about_is_refused,
          test_questions_of_who_leaves_are_taken_back,
          test_an_endless_session_is_left_when_that_is_granted,
          test_an_endless_session_that_may_not_be_left_ends_with_its_consumer,
          test_a_question_that_cannot_be_asked_costs_the_connection,
          test_a_key_is_taken_by_who_has_it_first,
          test_a_user_clones_the_own_session_of_a_name,
          test_a_session_that_is_granted_too_late_is_refused,
          test_a_query_starts_producers_for_who_may_record_them,
          test_a_query_starts_nobody_for_who_may_not,
          test_a_query_of_who_leaves_is_taken_back)
