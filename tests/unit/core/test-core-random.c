/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Whatever producers and consumers do, in whatever order: the service keeps its promises of time. Every seed is a
 * different history, the same on every machine.
 */

#include "fixture.h"

#define SEEDS 60
#define STEPS 250

static Fixture f;
static uint32_t state;

static uint32_t choose(uint32_t n) {
        state = state * 1664525 + 1013904223;
        return (state >> 8) % n;
}

static const char *const source_names[] = { "track_event",
                                            "com.example.render",
                                            "org.example.audio" };

#define FILTERED(filters) \
        "buffers { size_kb: 256 } data_sources { config { name: \"track_event\" } " filters " } "
#define NARROW FILTERED("producer_name_filter: \"nobody\" ")
#define WIDE   FILTERED("producer_name_filter: \"nobody\" producer_name_regex_filter: \".*\" ")

static const char *const configs[] = {
        CONFIG_ONE("track_event"),
        CONFIG_ONE("com.example.render") "duration_ms: 900 flush_period_ms: 200",
        CONFIG_ONE("org.example.audio") "data_sources { config { name: \"track_event\" } } "
                                        "data_source_stop_timeout_ms: 300 flush_timeout_ms: 200",
        CONFIG_ONE("extra.started") "incremental_state_config { clear_period_ms: 100 }",
        NARROW,
        CONFIG_ONE("track_event") "exclusive_prio: 1",
        CONFIG_ONE("org.example.audio") "exclusive_prio: 2 duration_ms: 100",
        CONFIG_ONE("track_event") "session_semaphores { name: \"a\" } duration_ms: 700 "
                                  "prefer_suspend_clock_for_duration: true "
                                  "enable_extra_guardrails: true",
        CONFIG_ONE("track_event") "write_into_file: true file_write_period_ms: 200 "
                                  "write_flush_mode: WRITE_FLUSH_ENABLED "
                                  "builtin_data_sources { snapshot_interval_ms: 150 }",
        CONFIG_ONE("track_event") "data_sources { config { name: \"desktrace.self\" } } "
                                  "data_sources { config { name: \"desktrace.self\" } } "
                                  "flush_period_ms: 300 builtin_data_sources { "
                                  "enable_concurrent_session_events: true }",
};

static unsigned n_replies, n_asked;

static void on_flushed(void *userdata, int outcome) {
        ck_assert(outcome == 0 || outcome == SESSION_E_STATE);
        n_replies++;
}

static FakeProducer *some_producer(void) {
        FakeProducer *producer =
                f.n_producers ? f.producers[choose((uint32_t)f.n_producers)] : NULL;

        return producer && producer->producer ? producer : NULL;
}

static FakeConsumer *some_consumer(void) {
        FakeConsumer *consumer =
                f.n_consumers ? f.consumers[choose((uint32_t)f.n_consumers)] : NULL;

        return consumer && consumer->session ? consumer : NULL;
}

static void do_connect(void) {
        FakeProducer *producer;

        if (f.n_producers == FAKE_PEERS_MAX)
                return;
        producer = fixture_connect_producer(&f, 1000 + choose(2), "app", NULL);
        producer->acks_start = choose(4) > 0;
        producer->acks_flush = choose(4) > 0;
        producer->acks_stop = choose(4) > 0;
}

static void do_offer(void) {
        FakeProducer *producer = some_producer();

        /* The fake remembers a limited number of instances. */
        if (producer && producer->n_instances < FAKE_INSTANCES_MAX / 2)
                fixture_add_source(producer,
                                   source_names[choose(ARRAY_SIZE(source_names))],
                                   &(SourceOptions){ .no_flush = choose(4) == 0 });
}

static void do_withdraw(void) {
        FakeProducer *producer = some_producer();

        if (producer)
                producer_remove_source(
                        producer->producer, source_names[choose(ARRAY_SIZE(source_names))], f.now);
}

static void do_disconnect(void) {
        FakeProducer *producer = some_producer();

        if (producer)
                fixture_disconnect_producer(producer);
}

static void do_write(void) {
        FakeProducer *producer = some_producer();
        SmbWriter *writer;

        if (!producer || producer->n_instances == 0)
                return;
        writer = fake_writer_new(producer,
                                 &producer->instances[choose((uint32_t)producer->n_instances)]);
        if (choose(2))
                fake_write(writer, "x");
        else
                fake_write_unfinished(writer, "y");
        fake_ring(producer);
        smb_writer_deinit(writer);
        free(writer);
}

/* Answers to requests of long ago, or that nobody made. */
static void do_answer(void) {
        FakeProducer *producer = some_producer();
        uint64_t id = 1 + choose(60);

        if (!producer)
                return;
        producer_source_started(producer->producer, id, f.now);
        if (choose(2))
                producer_source_failed(producer->producer, id, "so it is", f.now);
        producer_source_stopped(producer->producer, id + choose(3), f.now);
        producer_flushed(producer->producer, producer->flush_id, f.now);
}

static void do_session(void) {
        const SessionOptions options = {
                .owner = { .uid = 1000 + choose(2) },
                .scope = choose(2) ? SESSION_SCOPE_SYSTEM : SESSION_SCOPE_OWN,
                .has_output = choose(2),
        };
        FakeConsumer *consumer;

        if (f.n_consumers == FAKE_PEERS_MAX)
                return;
        if (fixture_try_session(&f, &consumer, &options, configs[choose(ARRAY_SIZE(configs))]) ==
                    0 &&
            choose(8))
                ck_assert_int_eq(session_start(consumer->session, f.now), 0);
}

static void do_flush(void) {
        FakeConsumer *consumer = some_consumer();

        if (consumer && session_flush(consumer->session,
                                      (1 + choose(3)) * 100 * MS,
                                      0,
                                      on_flushed,
                                      consumer,
                                      f.now) == 0)
                n_asked++;
}

/* Most have another config, and are not changed. */
static void do_change(void) {
        FakeConsumer *consumer = some_consumer();
        ConfigError config_error;
        SessionError error;
        Config *config;

        if (!consumer)
                return;
        ck_assert_int_eq(config_new_from_text(&config, choose(2) ? WIDE : NARROW, &config_error),
                         0);
        if (session_change_config(consumer->session, config, &error, f.now) != 0)
                config_free(config);
}

static void do_stop(void) {
        FakeConsumer *consumer = some_consumer();

        if (consumer)
                session_stop(consumer->session, "requested", f.now);
}

static void do_free(void) {
        FakeConsumer *consumer = some_consumer();

        if (consumer)
                fixture_free_session(consumer);
}

static void do_read(void) {
        FakeConsumer *consumer = some_consumer();
        TestPacket packet;
        size_t at = 0;
        Bytes trace;

        if (!consumer)
                return;
        trace = fixture_read(&f, consumer);
        while (trace_next(&trace, &at, &packet))
                ;
        bytes_deinit(&trace);
}

/* Its output takes no more. */
static void do_fill(void) {
        FakeConsumer *consumer = some_consumer();

        if (consumer && session_options(consumer->session)->has_output)
                session_output_full(consumer->session, f.now);
}

static void do_look(void) {
        FakeConsumer *consumer = some_consumer();
        InstanceCursor cursor = {};
        SessionTotals totals;
        InstanceInfo next;

        if (!consumer)
                return;
        session_totals(consumer->session, &totals);
        for (size_t i = 0; i < session_n_instances(consumer->session); i++) {
                InstanceInfo info;

                session_instance(consumer->session, i, &info);
                ck_assert(session_next_instance(consumer->session, &cursor, &next));
                ck_assert(next.source == info.source && next.why == info.why);
                ck_assert_ptr_nonnull(instance_state_name(info.state));
                ck_assert_ptr_nonnull(info.source);
        }
        ck_assert(!session_next_instance(consumer->session, &cursor, &next));
}

static void do_wait(void) {
        fixture_advance(&f, choose(400) * MS);
}

static void do_fail_activation(void) {
        service_activation_failed(f.service, 0, "it is not there", f.now);
}

static void (*const verbs[])(void) = {
        do_connect, do_offer,   do_offer,           do_withdraw, do_disconnect, do_write, do_write,
        do_answer,  do_session, do_flush,           do_stop,     do_free,       do_read,  do_look,
        do_fill,    do_change,  do_fail_activation, do_wait,     do_wait,
};

/* Longer than every wait together: start, flush, stop. */
static void assert_all_come_to_rest(void) {
        for (size_t i = 0; i < f.n_consumers; i++)
                if (f.consumers[i]->session)
                        session_stop(f.consumers[i]->session, "requested", f.now);
        fixture_advance(
                &f, SESSION_START_TIMEOUT_NS + SESSION_FLUSH_TIMEOUT_NS + SESSION_STOP_TIMEOUT_NS);
        for (size_t i = 0; i < f.n_consumers; i++)
                if (f.consumers[i]->session)
                        ck_assert_int_eq(session_state(f.consumers[i]->session), SESSION_STOPPED);
        ck_assert_uint_eq(n_replies, n_asked);
        ck_assert_uint_eq(service_next_deadline(f.service), UINT64_MAX);
}

START_TEST(test_every_history_comes_to_rest) {
        for (uint32_t seed = 1; seed <= SEEDS; seed++) {
                state = seed * 7919;
                n_replies = n_asked = 0;
                fixture_init_fresh(&f);
                ck_assert_int_eq(service_add_activatable(f.service,
                                                         "extra",
                                                         (const char *[]){ "extra.started", NULL }),
                                 0);
                for (unsigned i = 0; i < STEPS; i++) {
                        verbs[choose(ARRAY_SIZE(verbs))]();
                        f.n_activations[0] = 0;
                        if (choose(2))
                                fixture_settle(&f);
                }
                assert_all_come_to_rest();
                fixture_deinit(&f);
        }
}
END_TEST

TEST_MAIN("core-random", test_every_history_comes_to_rest)
