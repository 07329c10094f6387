/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Out of memory at each place in turn, in what a consumer of Perfetto's protocol asks for: each call is answered or
 * costs the connection, nothing stays charged, and the next consumer is served.
 */

#include <sys/socket.h>
#include <unistd.h>

#include "consumer-world.h"
#include "core/failing-allocator.h"
#include "core/model/service.h"
#include "sink.h"

#define CONFIG CONFIG_ONE("com.example") "duration_ms: 60000 unique_session_name: \"tight\""

typedef struct Held {
        size_t n_sessions;
        uint64_t n_charged[_QUOTA_SLOT_N];
} Held;

static Held held_now(void) {
        Held held = { .n_sessions = service_n_sessions(f.service) };

        for (QuotaSlot slot = 0; slot < _QUOTA_SLOT_N; slot++)
                held.n_charged[slot] = f.service->quota.used[slot];
        return held;
}

static void assert_held(const Held *before) {
        const Held held = held_now();

        ck_assert_uint_eq(held.n_sessions, before->n_sessions);
        for (QuotaSlot slot = 0; slot < _QUOTA_SLOT_N; slot++)
                ck_assert_msg(held.n_charged[slot] == before->n_charged[slot],
                              "slot %d: %llu, was %llu",
                              (int)slot,
                              (unsigned long long)held.n_charged[slot],
                              (unsigned long long)before->n_charged[slot]);
        ck_assert_uint_eq(ports_n_bytes_held(ports), 0);
}

static void put_config(void) {
        _cleanup_(config_freep) Config *config = NULL;
        ConfigError error;

        ck_assert_int_eq(config_new_from_text(&config, CONFIG, &error), 0);
        wire_put_bytes(consumer_message(&consumer), 1, config->bytes, config->n_bytes);
}

static void put_key(void) {
        wire_put_string(consumer_message(&consumer), 1, "key");
}

static void put_name(void) {
        wire_put_string(consumer_message(&consumer), 4, "tight");
}

static void put_events(void) {
        wire_put_uint(consumer_message(&consumer), 1, 3);
}

/*
 * Before the call
 */

static void record(void) {
        SmbWriter *writer;

        world_enable(&consumer, CONFIG, -1);
        world_run(&consumer);
        writer = fake_writer_new(app, fake_instance(app, "com.example"));
        fake_write(writer, "hello");
        free(writer);
        fake_ring(app);
}

static void leave(void) {
        record();
        put_key();
        world_success(&consumer, consumer_call(&consumer, CONSUMER_DETACH));
}

/* By the fixture, for the consumer to clone. */
static void record_elsewhere(void) {
        fixture_start_session(&f, getuid(), CONFIG);
        world_run(&consumer);
}

/*
 * The calls
 */

/* What is right though there is no reply yet. */
static bool has_session(void) {
        return service_n_sessions(f.service) == 1;
}

typedef struct Call {
        ConsumerMethod method;
        void (*prepare)(void);
        void (*put)(void);
        bool (*is_right)(void); /* NULL: only a reply is */
        unsigned n_failures;    /* that have to be seen, at least */
} Call;

static const Call calls[] = {
        { CONSUMER_ENABLE, NULL, put_config, has_session, 10 },
        { CONSUMER_READ, record, NULL, NULL, 1 },
        { CONSUMER_FLUSH, record, NULL, NULL, 2 },
        { CONSUMER_CHANGE, record, put_config, NULL, 2 },
        { CONSUMER_DETACH, record, put_key, NULL, 1 },
        { CONSUMER_ATTACH, leave, put_key, NULL, 1 },
        { CONSUMER_STATS, record, NULL, NULL, 2 },
        { CONSUMER_OBSERVE, record, put_events, NULL, 0 },
        { CONSUMER_QUERY_STATE, record, NULL, NULL, 1 },
        { CONSUMER_QUERY_CAPABILITIES, NULL, NULL, NULL, 0 },
        { CONSUMER_CLONE, record_elsewhere, put_name, NULL, 2 },
};

/* Whether an allocation has failed: false when there were fewer allocations. */
static bool try_call(const Call *call, unsigned n, unsigned *n_failures) {
        const ConsumerReply *reply;
        uint64_t request;
        bool is_short;

        if (call->prepare)
                call->prepare();
        if (call->put)
                call->put();
        request = consumer_call(&consumer, call->method);
        arm(n);
        world_serve_ports();
        is_short = disarm();
        world_run(&consumer);
        reply = consumer_reply(&consumer, request, 0);
        ck_assert_msg(consumer.is_closed || reply || (call->is_right && call->is_right()),
                      "call %u has no answer without allocation %u",
                      (unsigned)call->method,
                      n);
        ck_assert(is_short || (!consumer.is_closed && (!reply || reply->success)));
        *n_failures += consumer.is_closed || (reply && !reply->success);
        return is_short;
}

/* Everything that it leaves is given back. */
static void assert_goes_on(void) {
        ConsumerClient other;
        Bytes trace;

        world_connect(&other);
        world_enable(&other, CONFIG_ONE("com.example"), -1);
        world_run(&other);
        world_success(&other, consumer_call(&other, CONSUMER_FLUSH));
        trace = world_read(&other);
        ck_assert_uint_gt(trace.n, 0);
        bytes_deinit(&trace);
        consumer_client_deinit(&other);
        world_serve();
}

START_TEST(test_each_call_is_answered_or_costs_the_connection) {
        for (size_t k = 0; k < ARRAY_SIZE(calls); k++) {
                unsigned n_failures = 0;
                bool is_short = true;

                for (unsigned i = 0; is_short; i++) {
                        Held before;

                        world_init();
                        fixture_free_session(
                                fixture_start_session(&f, getuid(), CONFIG_ONE("com.example")));
                        consumer_client_deinit(&consumer);
                        world_serve();
                        before = held_now();
                        world_connect(&consumer);
                        is_short = try_call(&calls[k], i, &n_failures);
                        if (calls[k].prepare == NULL || calls[k].prepare == record) {
                                consumer_client_deinit(&consumer);
                                world_serve();
                                if (calls[k].method != CONSUMER_DETACH)
                                        assert_held(&before);
                                world_connect(&consumer);
                        }
                        assert_goes_on();
                        world_deinit();
                }
                ck_assert_uint_ge(n_failures, calls[k].n_failures);
        }
}
END_TEST

CONSUMER_WORLD_TEST(test_a_connection_is_accepted_as_a_whole_or_closed) {
        unsigned n_refused = 0;
        bool is_short = true;
        Held before;

        consumer_client_deinit(&consumer);
        world_serve();
        before = held_now();
        for (unsigned i = 0; is_short; i++) {
                int fds[2], r;

                ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
                consumer_client_init(&consumer, fds[1]);
                consumer_client_bind(&consumer);
                arm(i);
                r = ports_accept(ports, PORT_CONSUMER, fds[0]);
                world_serve_ports();
                is_short = disarm();
                ck_assert(r == 0 || (r == -ENOMEM && is_short));
                n_refused += r != 0;
                world_run(&consumer);
                /* A user's peer is refused as well where /proc could not be read: it may be in a sandbox. */
                ck_assert(consumer.is_bound || consumer.is_closed || consumer.is_refused);
                ck_assert(consumer.is_bound || is_short);
                ck_assert(!consumer.is_bound || r == 0);
                consumer_client_deinit(&consumer);
                world_serve();
                assert_held(&before);
                ck_assert(!ports_is_busy(ports));
        }
        ck_assert_uint_ge(n_refused, 2);
        world_connect(&consumer);
}

CONSUMER_WORLD_TEST(test_the_ports_are_made_as_a_whole_or_not_at_all) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        PortsOptions options = { .service = f.service,
                                 .info = &f.info,
                                 .output_ops = &sink_output_ops };
        unsigned n_failures = 0;
        bool is_short = true;

        ck_assert_int_ge(sd_event_new(&event), 0);
        options.event = options.output_host = event;
        for (unsigned i = 0; is_short; i++) {
                Ports *made = NULL;
                int r;

                arm(i);
                r = ports_new(&made, &options);
                is_short = disarm();
                ck_assert_int_eq(r, is_short ? -ENOMEM : 0);
                ck_assert(is_short == !made);
                n_failures += is_short;
                ports_free(made);
        }
        ck_assert_uint_ge(n_failures, 2);
}

TEST_MAIN("consumer-out-of-memory",
          test_each_call_is_answered_or_costs_the_connection,
          test_the_ports_are_made_as_a_whole_or_not_at_all,
          test_a_connection_is_accepted_as_a_whole_or_closed)
