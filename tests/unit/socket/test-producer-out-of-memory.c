/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Out of memory at each place in turn, in what a producer of Perfetto's protocol says and is asked for: each call is
 * answered or costs the connection, and the next producer is recorded.
 */

#include "core/failing-allocator.h"
#include "producer-world.h"

static ProducerClient app;

static const uint8_t triggers[] = { 0x0a, 4, 'j', 'a', 'n', 'k', 0x0a, 3, 'b', 'i', 'g' };

static uint64_t call_initialize(void) {
        return client_initialize(&app, &(ClientOptions){ .name = "app" });
}

static uint64_t call_register(void) {
        return client_describe_source(&app, CLIENT_REGISTER_SOURCE, "other", 5, "category");
}

static uint64_t call_update(void) {
        return client_describe_source(&app, CLIENT_UPDATE_SOURCE, "track_event", 77, "category");
}

static uint64_t call_triggers(void) {
        return client_call(&app, CLIENT_TRIGGERS, true, triggers, sizeof(triggers));
}

typedef struct Call {
        uint64_t (*make)(void);
        unsigned n_failures; /* that have to be seen, at least */
} Call;

static const Call calls[] = {
        { call_initialize, 1 },
        { call_register, 4 },
        { call_update, 3 },
        { call_triggers, 1 },
};

static void assert_goes_on(void) {
        FakeConsumer *consumer;

        world_connect_app(&app, "app", "track_event");
        consumer = fixture_start_session(&f, getuid(), CONFIG_ONE("track_event"));
        world_run_one(&app);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STARTED);
        client_deinit(&app);
        world_serve();
        ck_assert_uint_eq(ports_n_bytes_held(ports), 0);
}

/* A source that was registered can be updated by its number. */
static void assert_knows_source(void) {
        const uint64_t request =
                client_describe_source(&app, CLIENT_UPDATE_SOURCE, "other", 5, "category");

        world_run_one(&app);
        ck_assert(!app.is_closed && client_reply(&app, request)->success);
}

/* A call that is not initialize() is one of a producer that is ready. */
static bool try_call(const Call *call, unsigned n, unsigned *n_failures) {
        const ClientReply *reply;
        uint64_t request;
        bool is_short;

        if (call->make == call_initialize) {
                world_connect(&app);
                client_bind(&app);
                world_run_one(&app);
        } else
                world_connect_app(&app, "app", "track_event");
        request = call->make();
        arm(n);
        world_serve_ports();
        is_short = disarm();
        world_run_one(&app);
        reply = client_reply(&app, request);
        ck_assert(app.is_closed || reply);
        ck_assert(is_short || (!app.is_closed && reply->success && reply->n_data != 1));
        *n_failures += app.is_closed || !reply->success;
        if (call->make == call_register && !app.is_closed && reply->success && reply->n_data != 1)
                assert_knows_source();
        client_deinit(&app);
        world_serve();
        return is_short;
}

START_TEST(test_each_call_is_answered_or_costs_the_connection) {
        for (size_t k = 0; k < ARRAY_SIZE(calls); k++) {
                unsigned n_failures = 0;
                bool is_short = true;

                for (unsigned i = 0; is_short; i++) {
                        world_init();
                        is_short = try_call(&calls[k], i, &n_failures);
                        assert_goes_on();
                        world_deinit();
                }
                ck_assert_uint_ge(n_failures, calls[k].n_failures);
        }
}
END_TEST

/* Commands that cannot be written or kept would leave the producer waiting: its connection ends. */
START_TEST(test_commands_are_told_or_cost_the_connection) {
        for (unsigned waits = 0; waits < 2; waits++) {
                unsigned n_closed = 0;
                bool is_short = true;

                for (unsigned i = 0; is_short; i++) {
                        FakeConsumer *consumer;

                        world_init();
                        world_connect_app(&app, "app", "track_event");
                        fixture_free_session(
                                fixture_start_session(&f, getuid(), CONFIG_ONE("track_event")));
                        world_run_one(&app);
                        if (waits) { /* for somebody who has not asked yet */
                                client_deinit(&app);
                                world_connect(&app);
                                client_bind(&app);
                                world_run_one(&app);
                                client_call(&app,
                                            CLIENT_INITIALIZE,
                                            true,
                                            "\x1a\x03"
                                            "app",
                                            5);
                                client_register_source(&app, "track_event", 77);
                                world_run_one(&app);
                        }
                        ck_assert_int_eq(
                                fixture_try_session(
                                        &f,
                                        &consumer,
                                        &(SessionOptions){ .owner = { .uid = getuid(), .pid = 1 } },
                                        CONFIG_ONE("track_event")),
                                0);
                        arm(i);
                        session_start(consumer->session, f.now);
                        world_serve_ports();
                        is_short = disarm();
                        world_run_one(&app);
                        ck_assert(is_short || !app.is_closed);
                        ck_assert(waits || app.is_closed ||
                                  session_state(consumer->session) == SESSION_STARTED);
                        n_closed += app.is_closed;
                        client_deinit(&app);
                        world_serve();
                        assert_goes_on();
                        world_deinit();
                }
                ck_assert_uint_ge(n_closed, 2);
        }
}
END_TEST

TEST_MAIN("producer-out-of-memory",
          test_each_call_is_answered_or_costs_the_connection,
          test_commands_are_told_or_cost_the_connection)
