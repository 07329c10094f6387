/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/model/service.h"
#include "fixture.h"

/*
 * The service's world
 */

static size_t on_read_clocks(void *userdata, ClockReading ret[static CLOCK_READINGS_MAX]) {
        const Fixture *fixture = userdata;

        ret[0] = (ClockReading){ CLOCK_ID_BOOTTIME, fixture->now };
        ret[1] = (ClockReading){ CLOCK_ID_REALTIME,
                                 UINT64_C(1700000000) * S + fixture->now + fixture->skew_ns };
        ret[2] = (ClockReading){ CLOCK_ID_MONOTONIC, fixture->now - fixture->suspended_ns };
        return 3;
}

/* A clock that goes on by itself, a microsecond with each look. */
static uint64_t on_read_boottime(void *userdata) {
        Fixture *fixture = userdata;

        return fixture->now + ++fixture->n_clock_looks * 1000;
}

static void on_random(void *userdata, void *ret, size_t n_bytes) {
        const Fixture *fixture = userdata;

        memset(ret, fixture->random_byte, n_bytes);
}

static void on_activate(void *userdata, size_t index) {
        Fixture *fixture = userdata;

        ck_assert_uint_lt(index, ARRAY_SIZE(fixture->n_activations));
        fixture->n_activations[index]++;
}

static bool on_is_suspended(void *userdata, const Identity *identity) {
        Fixture *fixture = userdata;

        fixture->n_looks++;
        for (size_t i = 0; i < fixture->n_producers; i++)
                if (fixture->producers[i]->pid == identity->pid)
                        return fixture->producers[i]->is_suspended;
        return false;
}

static uid_t on_user_of(void *userdata, const Identity *identity) {
        return identity->uid >= FIXTURE_SUBORDINATE_UID &&
                               identity->uid - FIXTURE_SUBORDINATE_UID < 65536
                       ? 1000
                       : identity->uid;
}

static const ServiceOps service_ops = {
        .user_of = on_user_of,
        .read_clocks = on_read_clocks,
        .random = on_random,
        .activate = on_activate,
        .read_boottime = on_read_boottime,
        .is_suspended = on_is_suspended,
};

/* An entry point of the core leaves nothing to be carried on, but for producer_free(): that waits for the tick. */
static void assert_settled(const Fixture *fixture) {
        ck_assert(fixture->has_gone || list_is_empty(&fixture->service->marked));
}

void fixture_init_fresh(Fixture *fixture) {
        *fixture = (Fixture){
                .now = 100 * S,
                .random_byte = 0x5a,
                .info = {
                        .version = "test", .sysname = "Linux", .release = "6.1", .kernel_version = "#1",
                        .machine = "x86_64", .hz = 250, .page_size = 4096, .n_cpus = 4,
                        .ram_bytes = UINT64_C(16) << 30, .uid = 990, .probes_uid = 991,
                },
        };
        ck_assert_int_eq(
                service_new(&fixture->service, &fixture->info, &service_ops, fixture, fixture->now),
                0);
}

void fixture_init(Fixture *fixture) {
        fixture_init_fresh(fixture);
        fixture_advance(fixture, SERVICE_SETTLE_NS);
}

void fixture_deinit(Fixture *fixture) {
        for (size_t i = 0; i < fixture->n_consumers; i++) {
                fixture_free_session(fixture->consumers[i]);
                free(fixture->consumers[i]);
        }
        for (size_t i = 0; i < fixture->n_producers; i++) {
                fixture_disconnect_producer(fixture->producers[i]);
                free(fixture->producers[i]);
        }
        service_free(fixture->service);
}

static bool producer_answer(FakeProducer *producer) {
        uint64_t now = producer->fixture->now;
        bool answered = producer->n_to_start || producer->n_to_stop || producer->to_flush;

        if (!producer->producer || producer->is_suspended)
                return false;
        for (size_t i = 0; i < producer->n_to_start; i++)
                producer_source_started(producer->producer, producer->to_start[i], now);
        producer->n_to_start = 0;
        if (producer->to_flush)
                producer_flushed(producer->producer, producer->to_flush, now);
        producer->to_flush = 0;
        for (size_t i = 0; i < producer->n_to_stop; i++)
                producer_source_stopped(producer->producer, producer->to_stop[i], now);
        producer->n_to_stop = 0;
        if (answered)
                assert_settled(producer->fixture);
        return answered;
}

void fixture_settle(Fixture *fixture) {
        bool again = true;

        for (unsigned i = 0; again; i++) {
                ck_assert_uint_lt(i, 1000); /* or peers and service never come to rest */
                again = false;
                for (size_t k = 0; k < fixture->n_producers; k++)
                        again |= producer_answer(fixture->producers[k]);
                if (service_next_deadline(fixture->service) <= fixture->now) {
                        service_tick(fixture->service, fixture->now);
                        fixture->has_gone = false;
                        assert_settled(fixture);
                        again = true;
                }
        }
}

void fixture_advance(Fixture *fixture, uint64_t ns) {
        uint64_t end = fixture->now + ns;

        fixture_settle(fixture);
        while (service_next_deadline(fixture->service) <= end) {
                fixture->now = MAX(fixture->now, service_next_deadline(fixture->service));
                fixture_settle(fixture);
        }
        fixture->now = end;
        fixture_settle(fixture);
}

/*
 * Producers
 */

static int on_setup_memory(void *peer, size_t pages_bytes, uint32_t page_bytes, SmbArea *ret) {
        FakeProducer *producer = peer;
        size_t n = producer->is_native ? smb_native_bytes(pages_bytes, page_bytes) : pages_bytes;
        SmbArea attached;

        if (producer->memory_error)
                return producer->memory_error;
        if (producer->memory) { /* released; its writers may still be there */
                ck_assert_uint_gt(producer->n_released, producer->n_old);
                ck_assert_uint_lt(producer->n_old, FAKE_MEMORIES_MAX);
                producer->old[producer->n_old].memory = producer->memory;
                producer->old[producer->n_old++].smb = producer->smb;
                producer->smb = NULL;
        }
        producer->memory = aligned_alloc(4096, ALIGN_UP(n, 4096));
        memset(producer->memory, 0, ALIGN_UP(n, 4096));
        producer->pages_bytes = pages_bytes;
        producer->page_bytes = page_bytes;
        if (producer->is_native) {
                smb_area_create(&producer->area, producer->memory, pages_bytes, page_bytes);
                ck_assert_int_eq(smb_area_attach(&attached, producer->memory, n), 0);
                producer->smb = calloc(1, sizeof(*producer->smb));
                smb_producer_init(producer->smb, &attached, producer->doorbell_fd);
        } else {
                smb_area_create_plain(&producer->area, producer->memory, pages_bytes, page_bytes);
        }
        *ret = producer->area;
        return 0;
}

static void on_release_memory(void *peer) {
        FakeProducer *producer = peer;

        producer->n_released++;
}

static uint16_t config_target_buffer(const void *config, size_t n_config) {
        WireReader reader;
        WireField field;
        uint16_t target = 0;

        wire_reader_init(&reader, config, n_config);
        while (wire_read(&reader, &field) > 0)
                if (field.number == 2)
                        target = (uint16_t)field.value;
        return target;
}

static void
on_setup_source(void *peer, uint64_t id, const char *name, const void *config, size_t n_config) {
        FakeProducer *producer = peer;
        FakeInstance *instance = &producer->instances[producer->n_instances++];

        ck_assert_uint_le(producer->n_instances, FAKE_INSTANCES_MAX);
        ck_assert_uint_le(n_config, sizeof(instance->config));
        *instance = (FakeInstance){ .id = id,
                                    .n_config = n_config,
                                    .target_buffer = config_target_buffer(config, n_config) };
        strncpy(instance->name, name, sizeof(instance->name) - 1);
        memcpy(instance->config, config, n_config);
}

static FakeInstance *producer_instance(FakeProducer *producer, uint64_t id) {
        for (size_t i = 0; i < producer->n_instances; i++)
                if (producer->instances[i].id == id)
                        return &producer->instances[i];
        ck_abort_msg("a request for an instance that was never set up");
}

static void on_start_source(void *peer, uint64_t id) {
        FakeProducer *producer = peer;

        producer_instance(producer, id)->start_asked = true;
        if (producer->acks_start)
                producer->to_start[producer->n_to_start++] = id;
}

static void on_stop_source(void *peer, uint64_t id) {
        FakeProducer *producer = peer;

        producer_instance(producer, id)->stop_asked = true;
        if (producer->acks_stop)
                producer->to_stop[producer->n_to_stop++] = id;
}

static void
on_flush(void *peer, uint64_t flush_id, const uint64_t *instances, size_t n, uint64_t flags) {
        FakeProducer *producer = peer;

        producer->flush_id = flush_id;
        producer->flush_flags = flags;
        producer->n_flushes++;
        producer->n_flushed_instances = (unsigned)n;
        for (size_t i = 0; i < n; i++)
                producer_instance(producer, instances[i]);
        if (producer->acks_flush)
                producer->to_flush = flush_id;
}

static void on_clear(void *peer, const uint64_t *instances, size_t n) {
        for (size_t i = 0; i < n; i++)
                producer_instance(peer, instances[i])->n_clears++;
}

static const ProducerOps producer_ops = {
        .setup_memory = on_setup_memory,
        .release_memory = on_release_memory,
        .setup_source = on_setup_source,
        .start_source = on_start_source,
        .stop_source = on_stop_source,
        .flush = on_flush,
        .clear_incremental_state = on_clear,
};

FakeProducer *fixture_connect_producer_with(Fixture *fixture,
                                            uid_t uid,
                                            const char *name,
                                            const char *source,
                                            const ProducerOptions *options) {
        const Identity identity = { .uid = uid, .pid = (pid_t)(1000 + fixture->n_producers) };
        FakeProducer *producer = calloc(1, sizeof(*producer));

        *producer = (FakeProducer){
                .fixture = fixture,
                .pid = identity.pid,
                .is_native = options->is_native,
                .acks_start = true,
                .acks_flush = true,
                .acks_stop = true,
                .doorbell_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
        };
        ck_assert_int_ge(producer->doorbell_fd, 0);
        ck_assert_uint_lt(fixture->n_producers, FAKE_PRODUCERS_MAX);
        fixture->producers[fixture->n_producers++] = producer;
        ck_assert_int_eq(producer_new(&producer->producer,
                                      fixture->service,
                                      &identity,
                                      name,
                                      options,
                                      &producer_ops,
                                      producer),
                         0);
        if (source)
                fixture_add_source(producer, source, &(SourceOptions){});
        return producer;
}

FakeProducer *
fixture_connect_producer(Fixture *fixture, uid_t uid, const char *name, const char *source) {
        return fixture_connect_producer_with(
                fixture, uid, name, source, &(ProducerOptions){ .is_native = true });
}

FakeProducer *
fixture_connect_plain_producer(Fixture *fixture, uid_t uid, const char *name, const char *source) {
        return fixture_connect_producer_with(fixture, uid, name, source, &(ProducerOptions){});
}

void fixture_add_source(FakeProducer *producer, const char *source, const SourceOptions *options) {
        ck_assert_int_eq(
                producer_add_source(producer->producer, source, options, producer->fixture->now),
                0);
        assert_settled(producer->fixture);
        fixture_settle(producer->fixture);
}

void fixture_disconnect_producer(FakeProducer *producer) {
        if (!producer->producer)
                return;
        producer->producer = producer_free(producer->producer);
        producer->fixture->has_gone = true;
        for (size_t i = 0; i < producer->n_old; i++) {
                free(producer->old[i].smb);
                free(producer->old[i].memory);
        }
        free(producer->smb);
        free(producer->memory);
        close(producer->doorbell_fd);
        producer->smb = NULL;
        producer->memory = NULL;
}

FakeInstance *fake_instance(FakeProducer *producer, const char *source) {
        for (size_t i = producer->n_instances; i > 0; i--)
                if (streq(producer->instances[i - 1].name, source))
                        return &producer->instances[i - 1];
        return NULL;
}

void fake_silent(const Session *session, char *text, size_t n) {
        InstanceCursor cursor = {};
        InstanceInfo info;

        while (session_next_silent(session, &cursor, &info)) {
                size_t at = strlen(text);

                snprintf(text + at, n - at, "%s@%s ", info.source, info.producer);
        }
}

SmbWriter *fake_writer_new(FakeProducer *producer, const FakeInstance *instance) {
        SmbWriter *writer = calloc(1, sizeof(*writer));

        ck_assert_int_eq(
                smb_writer_init(writer, producer->smb, instance->target_buffer, SMB_FULL_DROP, 0),
                0);
        return writer;
}

void fake_write_bytes(SmbWriter *writer, const void *packet, size_t n) {
        ck_assert_int_eq(smb_writer_write(writer, packet, n), 0);
}

void fake_write_unfinished(SmbWriter *writer, const char *text) {
        static uint8_t memory[1 << 20];
        WireWriter wire;

        wire_writer_init(&wire, memory, sizeof(memory));
        wire_put_string(&wire, FIXTURE_TEXT_FIELD, text);
        ck_assert(!wire_writer_failed(&wire));
        fake_write_bytes(writer, memory, wire_writer_size(&wire));
}

void fake_write(SmbWriter *writer, const char *text) {
        fake_write_unfinished(writer, text);
        smb_writer_flush(writer);
}

bool fake_ring(FakeProducer *producer) {
        uint64_t n;

        if (read(producer->doorbell_fd, &n, sizeof(n)) != sizeof(n))
                return false;
        producer_doorbell(producer->producer, producer->fixture->now);
        return true;
}

/*
 * Sessions
 */

static void on_changed(void *peer) {
        FakeConsumer *consumer = peer;

        consumer->n_changed++;
}

static void on_output_due(void *peer) {
        FakeConsumer *consumer = peer;

        consumer->n_outputs++;
}

static void on_triggered(void *peer, const char *trigger, const char *producer, uid_t uid) {
        FakeConsumer *consumer = peer;

        consumer->n_triggered++;
        snprintf(consumer->triggered_by,
                 sizeof(consumer->triggered_by),
                 "%s %s %u",
                 trigger,
                 producer,
                 (unsigned)uid);
}

static void on_snapshot_taken(void *peer, Session *clone, const char *trigger);

static void on_snapshot_failed(void *peer, const char *trigger, int outcome, const char *why) {
        FakeConsumer *consumer = peer;

        consumer->n_snapshots_failed++;
        consumer->outcome = outcome;
}

static const SessionOps session_ops = {
        .changed = on_changed,
        .output_due = on_output_due,
        .triggered = on_triggered,
        .snapshot_taken = on_snapshot_taken,
        .snapshot_failed = on_snapshot_failed,
};

static FakeConsumer *consumer_new(Fixture *fixture) {
        FakeConsumer *consumer = calloc(1, sizeof(*consumer));

        ck_assert_uint_lt(fixture->n_consumers, FAKE_PEERS_MAX);
        consumer->fixture = fixture;
        fixture->consumers[fixture->n_consumers++] = consumer;
        return consumer;
}

static void on_snapshot_taken(void *peer, Session *clone, const char *trigger) {
        FakeConsumer *consumer = peer, *snapshot = consumer_new(consumer->fixture);

        ck_assert_str_eq(session_name(clone), trigger);
        snapshot->session = clone;
        session_adopt(clone, &session_ops, snapshot);
        ck_assert_uint_lt(consumer->n_snapshots, FAKE_PEERS_MAX);
        consumer->snapshots[consumer->n_snapshots++] = snapshot;
}

int fixture_try_config(Fixture *fixture,
                       FakeConsumer **ret,
                       const SessionOptions *options,
                       Config *config) {
        FakeConsumer *consumer = consumer_new(fixture);
        int r;

        r = session_new(&consumer->session,
                        fixture->service,
                        config,
                        options,
                        &session_ops,
                        consumer,
                        &consumer->error,
                        fixture->now);
        if (r)
                config_free(config);
        else
                assert_settled(fixture);
        *ret = consumer;
        return r;
}

int fixture_try_session(Fixture *fixture,
                        FakeConsumer **ret,
                        const SessionOptions *options,
                        const char *text) {
        ConfigError error;
        Config *config;
        int r;

        r = config_new_from_text(&config, text, &error);
        ck_assert_msg(r == 0, "%u:%u: %s", error.line, error.column, error.message);
        return fixture_try_config(fixture, ret, options, config);
}

FakeConsumer *
fixture_start_session_with(Fixture *fixture, const SessionOptions *options, const char *config) {
        FakeConsumer *consumer;
        int r;

        r = fixture_try_session(fixture, &consumer, options, config);
        ck_assert_msg(r == 0, "%d: %s", r, consumer->error.message);
        if (!session_is_deferred(consumer->session))
                ck_assert_int_eq(session_start(consumer->session, fixture->now), 0);
        assert_settled(fixture);
        fixture_settle(fixture);
        return consumer;
}

FakeConsumer *fixture_start_session(Fixture *fixture, uid_t uid, const char *config) {
        return fixture_start_session_with(
                fixture, &(SessionOptions){ .owner = { .uid = uid } }, config);
}

static void on_cloned(void *userdata, int outcome, Session *clone) {
        FakeConsumer *consumer = userdata;

        ck_assert(!consumer->is_cloned);
        ck_assert((outcome == 0) == !!clone);
        consumer->is_cloned = true;
        consumer->outcome = outcome;
        consumer->session = clone;
        if (clone)
                session_adopt(clone, &session_ops, consumer);
}

FakeConsumer *
fixture_ask_clone(Fixture *fixture, FakeConsumer *source, const CloneOptions *options) {
        FakeConsumer *consumer = consumer_new(fixture);
        int r;

        r = session_clone(
                source->session, options, on_cloned, consumer, &consumer->error, fixture->now);
        assert_settled(fixture);
        if (r != 0) {
                ck_assert(!consumer->is_cloned);
                consumer->outcome = r;
        }
        return consumer;
}

FakeConsumer *fixture_clone(Fixture *fixture, FakeConsumer *source) {
        const CloneOptions options = { .owner = session_options(source->session)->owner };
        FakeConsumer *consumer = fixture_ask_clone(fixture, source, &options);

        fixture_settle(fixture);
        ck_assert_int_eq(consumer->outcome, 0);
        ck_assert(consumer->is_cloned);
        return consumer;
}

size_t fake_trigger(FakeProducer *producer, const char *name) {
        const TriggerSender sender = {
                .identity = *producer_identity(producer->producer),
                .producer = producer_name(producer->producer),
        };
        Fixture *fixture = producer->fixture;
        size_t n;

        ck_assert_int_eq(
                service_activate_triggers(fixture->service, &sender, &name, 1, &n, fixture->now),
                0);
        assert_settled(fixture);
        fixture_settle(fixture);
        return n;
}

void fixture_stop_session(Fixture *fixture, FakeConsumer *consumer) {
        session_stop(consumer->session, "requested", fixture->now);
        assert_settled(fixture);
        fixture_settle(fixture);
        ck_assert_int_eq(session_state(consumer->session), SESSION_STOPPED);
}

void fixture_free_session(FakeConsumer *consumer) {
        consumer->session = session_free(consumer->session);
}

/*
 * Traces
 */

Bytes fixture_read(Fixture *fixture, FakeConsumer *consumer) {
        Bytes trace = {};
        bool more = true;

        for (unsigned i = 0; more; i++) {
                ck_assert_uint_lt(i, 100000);
                ck_assert_int_eq(
                        session_read(consumer->session, 64 << 10, &trace, &more, fixture->now), 0);
        }
        return trace;
}

bool trace_next(const Bytes *trace, size_t *at, TestPacket *ret) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, trace->data + *at, trace->n - *at);
        r = wire_read(&reader, &field);
        ck_assert_int_ge(r, 0);
        if (r == 0)
                return false;
        ck_assert_uint_eq(field.number, 1);
        ck_assert_uint_eq(field.type, WIRE_BYTES);
        *ret = (TestPacket){ field.data, field.n_bytes };
        *at += field.n_raw;
        return true;
}

bool packet_field(const TestPacket *packet, uint32_t number, WireField *ret) {
        WireReader reader;
        WireField field;
        bool found = false;
        int r;

        wire_reader_init(&reader, packet->data, packet->n);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number == number) {
                        *ret = field;
                        found = true;
                }
        ck_assert_int_eq(r, 0);
        return found;
}

uint64_t packet_uint(const TestPacket *packet, uint32_t number) {
        WireField field;

        return packet_field(packet, number, &field) ? field.value : 0;
}

static bool packet_has_text(const TestPacket *packet, const char *text) {
        WireField field;

        return packet_field(packet, FIXTURE_TEXT_FIELD, &field) && field.n_bytes == strlen(text) &&
               memcmp(field.data, text, field.n_bytes) == 0;
}

size_t trace_count(const Bytes *trace, uint32_t field) {
        TestPacket packet;
        WireField found;
        size_t at = 0, n = 0;

        while (trace_next(trace, &at, &packet))
                n += packet_field(&packet, field, &found);
        return n;
}

TestPacket trace_packet(const Bytes *trace, uint32_t field, size_t nth) {
        TestPacket packet;
        WireField found;
        size_t at = 0;

        while (trace_next(trace, &at, &packet))
                if (packet_field(&packet, field, &found) && nth-- == 0)
                        return packet;
        ck_abort_msg("no such packet with field %u", field);
}

size_t trace_count_text(const Bytes *trace, const char *text) {
        TestPacket packet;
        size_t at = 0, n = 0;

        while (trace_next(trace, &at, &packet))
                n += packet_has_text(&packet, text);
        return n;
}

TestPacket trace_text(const Bytes *trace, const char *text) {
        TestPacket packet;
        size_t at = 0;

        while (trace_next(trace, &at, &packet))
                if (packet_has_text(&packet, text))
                        return packet;
        ck_abort_msg("no packet with \"%s\"", text);
}

bool trace_has_event(const Bytes *trace, uint32_t event, uint64_t *ret_ns) {
        TestPacket packet;
        size_t at = 0;

        while (trace_next(trace, &at, &packet)) {
                TestPacket body;
                WireField field;

                if (!packet_field(&packet, 69, &field))
                        continue;
                body = (TestPacket){ field.data, field.n_bytes };
                if (!packet_field(&body, event, &field))
                        continue;
                if (ret_ns)
                        *ret_ns = packet_uint(&packet, 8);
                return true;
        }
        return false;
}
