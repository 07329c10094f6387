/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The state of the service, as Perfetto's clients show it. It comes in as many replies as it needs, each of which is a
 * message of its own. Users see their own programs and sessions, and the system's data sources.
 *
 * Descriptors may be megabytes together. So the state is sent in batches, as buffers are read: one in a turn of the
 * main loop, and the next when the peer has read it. Anything may come and go in between. The answer continues behind
 * the number of the last entry that it has, so no entry is sent twice; only if a program withdraws a data source
 * meanwhile, another source of that program may be missing.
 */

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "consumer-private.h"
#include "core/model/policy.h"
#include "core/producer.h"
#include "core/session-clone.h"

/* Fields of requests and responses, of perfetto.protos.TracingServiceState and TracingServiceCapabilities. */
enum {
        QUERY_SESSIONS_ONLY = 1,
        _QUERY_FIELD_N,

        QUERIED_STATE = 1,
        STATE_PRODUCERS = 1,
        STATE_SOURCES = 2,
        STATE_N_SESSIONS = 3,
        STATE_N_STARTED = 4,
        STATE_VERSION = 5,
        STATE_SESSIONS = 6,
        STATE_SUPPORTS_SESSIONS = 7,

        PRODUCER_ID = 1,
        PRODUCER_NAME = 2,
        PRODUCER_UID = 3,
        PRODUCER_SDK_VERSION = 4,
        PRODUCER_PID = 5,

        SOURCE_DESCRIPTOR = 1,
        SOURCE_PRODUCER_ID = 2,
        DESCRIPTOR_NAME = 1,

        SESSION_ID = 1,
        SESSION_CONSUMER_UID = 2,
        SESSION_STATE = 3,
        SESSION_UNIQUE_NAME = 4,
        SESSION_BUFFER_SIZE_KB = 5,
        SESSION_DURATION_MS = 6,
        SESSION_N_SOURCES = 7,
        SESSION_START_REALTIME_NS = 8,
        SESSION_BUGREPORT_SCORE = 9,
        SESSION_BUGREPORT_FILENAME = 10,
        SESSION_IS_STARTED = 11,

        CAPABILITIES = 1,
        HAS_QUERY_CAPABILITIES = 1,
        OBSERVABLE_EVENTS = 2,
        HAS_CLONE_SESSION = 4,

        STATS = 1,
};

#define QUERY_BATCH_BYTES   (256u << 10)
#define REPLY_SLACK         64 /* that the writer wants to have, but does not use */
#define STATE_LENGTH_BYTES  3  /* at most, of which one is there from the beginning */
#define SOURCE_NUMBER_BYTES (1 + WIRE_VARINT_MAX)

/* A reply that is being filled. It has whole entries only. */
typedef struct StateReply {
        Consumer *consumer;
        ConsumerQuery *query;
        uint8_t *memory;
        WireWriter writer;
        size_t state;
        size_t n_sent;            /* in this turn */
        const Producer *producer; /* the last one in the answer of this turn, or NULL */
} StateReply;

static void reply_begin(StateReply *reply) {
        wire_writer_init(&reply->writer, reply->memory, port_message_max() + REPLY_SLACK);
        reply->state = wire_begin(&reply->writer, QUERIED_STATE);
}

static void reply_send(StateReply *reply, bool has_more) {
        wire_end(&reply->writer, reply->state);
        port_reply(reply->consumer->connection,
                   &reply->query->request,
                   has_more,
                   reply->memory,
                   wire_writer_size(&reply->writer));
        reply->n_sent += wire_writer_size(&reply->writer);
        reply_begin(reply);
}

/* Room for an entry of n bytes, in this reply or the next. */
static void reply_want(StateReply *reply, size_t n) {
        if (wire_writer_size(&reply->writer) + n + STATE_LENGTH_BYTES - 1 > port_message_max())
                reply_send(reply, true);
}

static void put_producer(StateReply *reply, const Producer *producer) {
        size_t begin;

        reply_want(reply, 512);
        begin = wire_begin(&reply->writer, STATE_PRODUCERS);
        wire_put_uint(&reply->writer, PRODUCER_ID, producer_id(producer));
        wire_put_string(&reply->writer, PRODUCER_NAME, producer_name(producer));
        wire_put_int(&reply->writer, PRODUCER_PID, producer_identity(producer)->pid);
        wire_put_int(&reply->writer, PRODUCER_UID, (int32_t)producer_identity(producer)->uid);
        wire_put_string(&reply->writer, PRODUCER_SDK_VERSION, producer_version(producer));
        wire_end(&reply->writer, begin);
}

static size_t field_bytes(size_t n) {
        return 1 + wire_varint_size(n) + n; /* the numbers here are below 16 */
}

/* What an entry takes with a descriptor of n_descriptor bytes. */
static size_t source_bytes(const Producer *producer, size_t n_descriptor) {
        return field_bytes(field_bytes(n_descriptor) + 1 + wire_varint_size(producer_id(producer)));
}

static size_t descriptor_bytes_max(void) {
        const size_t n_around = 1 + STATE_LENGTH_BYTES + 2 * (1 + STATE_LENGTH_BYTES);

        return port_message_max() - n_around - SOURCE_NUMBER_BYTES;
}

/* The fields that fit, from the first: long ones, such as categories, are left out. */
static void put_shortened(WireWriter *writer, const uint8_t *descriptor, size_t n) {
        const size_t begin = wire_writer_size(writer);
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, descriptor, n);
        for (;;) {
                const uint8_t *const at = reader.at;

                if (wire_read(&reader, &field) <= 0)
                        return;
                if (wire_writer_size(writer) - begin + (size_t)(reader.at - at) <=
                    descriptor_bytes_max())
                        wire_put_raw(writer, at, (size_t)(reader.at - at));
        }
}

/* Without a descriptor a source has a name alone. */
static void put_descriptor(WireWriter *writer, const Producer *producer, size_t i) {
        size_t n_descriptor;
        const void *descriptor = producer_source_descriptor(producer, i, &n_descriptor);

        if (n_descriptor == 0)
                wire_put_string(writer, DESCRIPTOR_NAME, producer_source_name(producer, i));
        else if (n_descriptor <= descriptor_bytes_max())
                wire_put_raw(writer, descriptor, n_descriptor);
        else
                put_shortened(writer, descriptor, n_descriptor);
}

static void put_source(StateReply *reply, const Producer *producer, size_t i) {
        size_t n_descriptor, begin, descriptor_begin;

        producer_source_descriptor(producer, i, &n_descriptor);
        n_descriptor = MIN(n_descriptor ?: field_bytes(SOURCE_NAME_MAX), descriptor_bytes_max());
        reply_want(reply, source_bytes(producer, n_descriptor));
        begin = wire_begin(&reply->writer, STATE_SOURCES);
        descriptor_begin = wire_begin(&reply->writer, SOURCE_DESCRIPTOR);
        put_descriptor(&reply->writer, producer, i);
        wire_end(&reply->writer, descriptor_begin);
        wire_put_uint(&reply->writer, SOURCE_PRODUCER_ID, producer_id(producer));
        wire_end(&reply->writer, begin);
}

/* As on the bus, users see their own producers and the system's. Returns the first one that came after this one. */
static const Producer *next_visible(StateReply *reply, uint64_t after) {
        const Consumers *consumers = reply->consumer->consumers;
        const Identity *viewer = port_connection_identity(reply->consumer->connection);
        const Producer *producer = reply->producer;

        if (producer && producer_order(producer) > after)
                producer = NULL;
        do
                producer = service_next_producer(consumers->service, (Producer *)producer);
        while (producer &&
               (producer_order(producer) <= after ||
                !policy_may_see(consumers->info, viewer, producer_identity(producer)->uid)));
        reply->producer = producer;
        return producer;
}

static bool put_next_producer(StateReply *reply) {
        ConsumerQuery *query = reply->query;
        const Producer *producer = next_visible(reply, query->last_id);

        if (!producer)
                return false;
        put_producer(reply, producer);
        query->last_id = query->last_producer = producer_order(producer);
        return true;
}

/* Only producers that are in the answer have their sources listed. */
static bool put_next_source(StateReply *reply) {
        ConsumerQuery *query = reply->query;
        const Producer *producer;

        while ((producer = next_visible(reply, query->last_id)) &&
               producer_order(producer) <= query->last_producer) {
                if (query->n_sources < producer_n_sources(producer)) {
                        put_source(reply, producer, query->n_sources++);
                        return true;
                }
                query->last_id = producer_order(producer);
                query->n_sources = 0;
        }
        return false;
}

/* In Perfetto's words. A session that flushes for the last time counts as running. */
static const char *state_name(const Session *session) {
        static const char *const names[_SESSION_STATE_N] = {
                [SESSION_CONFIGURED] = "CONFIGURED", [SESSION_STARTING] = "STARTED",
                [SESSION_STARTED] = "STARTED",       [SESSION_FLUSHING] = "STARTED",
                [SESSION_STOPPING] = "STOP_WAIT",    [SESSION_STOPPED] = "DISABLED",
        };

        return session_cloned_from(session) ? "CLONED_READ_ONLY" : names[session_state(session)];
}

static bool is_started(const Session *session) {
        const SessionState state = session_state(session);

        return state > SESSION_CONFIGURED && state < SESSION_STOPPING;
}

/* The sources that were ever set up and are still known. */
static uint64_t n_instances(const Session *session) {
        InstanceCursor cursor = {};
        InstanceInfo info;
        uint64_t n = 0;

        while (session_next_instance(session, &cursor, &info))
                n += info.state != INSTANCE_MISSING;
        return n;
}

/* A clone has the name of its original, unless it was given one. */
static const char *shown_name(const Session *session) {
        const char *name = session_name(session);

        return name[0] ? name : session_config(session)->pb->unique_session_name ?: "";
}

/* The time of day when it began, by the clock of now. 0: it has not. */
static uint64_t started_realtime_ns(const Consumers *consumers, const Session *session) {
        uint64_t usec;

        if (session_started_at(session) == 0 ||
            sd_event_now(consumers->sessions.event, CLOCK_REALTIME, &usec) < 0)
                return 0;
        return usec * 1000 - (consumers_now(consumers) - session_started_at(session));
}

static void put_session(StateReply *reply, const Session *session) {
        const Perfetto__Protos__TraceConfig *config = session_config(session)->pb;
        const uint64_t started_ns = started_realtime_ns(reply->consumer->consumers, session);
        WireWriter *writer = &reply->writer;
        size_t begin;

        reply_want(reply, 1024 + SESSION_BUFFERS_MAX * 8);
        begin = wire_begin(writer, STATE_SESSIONS);
        wire_put_uint(writer, SESSION_ID, session_id(session));
        wire_put_int(writer, SESSION_CONSUMER_UID, (int32_t)session_options(session)->owner.uid);
        wire_put_string(writer, SESSION_STATE, state_name(session));
        wire_put_string(writer, SESSION_UNIQUE_NAME, shown_name(session));
        for (size_t i = 0; i < config->n_buffers; i++)
                wire_put_uint(writer, SESSION_BUFFER_SIZE_KB, config->buffers[i]->size_kb);
        wire_put_uint(writer, SESSION_DURATION_MS, config->duration_ms);
        wire_put_uint(writer, SESSION_N_SOURCES, n_instances(session));
        if (started_ns > 0)
                wire_put_uint(writer, SESSION_START_REALTIME_NS, started_ns);
        if (config->has_bugreport_score)
                wire_put_int(writer, SESSION_BUGREPORT_SCORE, config->bugreport_score);
        if (config->bugreport_filename)
                wire_put_string(writer, SESSION_BUGREPORT_FILENAME, config->bugreport_filename);
        wire_put_bool(writer, SESSION_IS_STARTED, is_started(session));
        wire_end(writer, begin);
}

static void put_counts(StateReply *reply) {
        const Identity *identity = port_connection_identity(reply->consumer->connection);
        const Consumers *consumers = reply->consumer->consumers;
        Session *session = NULL;
        uint64_t n_started = 0;
        char version[64];

        while ((session = service_next_session(consumers->service, session)))
                n_started += policy_owns_session(consumers->info, identity, session) &&
                             is_started(session);
        reply_want(reply, 512);
        wire_put_uint(&reply->writer,
                      STATE_N_SESSIONS,
                      service_n_visible_sessions(consumers->service, identity));
        wire_put_uint(&reply->writer, STATE_N_STARTED, n_started);
        snprintf(version, sizeof(version), "Desktrace %s", consumers->info->version);
        wire_put_string(&reply->writer, STATE_VERSION, version);
        wire_put_bool(&reply->writer, STATE_SUPPORTS_SESSIONS, true);
}

static const Session *next_owned(const StateReply *reply, uint64_t after) {
        const Consumers *consumers = reply->consumer->consumers;
        const Identity *identity = port_connection_identity(reply->consumer->connection);
        Session *session = NULL;

        while ((session = service_next_session(consumers->service, session)))
                if (session_order(session) > after &&
                    policy_owns_session(consumers->info, identity, session))
                        break;
        return session;
}

static bool put_next_session(StateReply *reply) {
        const Session *session = next_owned(reply, reply->query->last_id);

        if (!session)
                return false;
        put_session(reply, session);
        reply->query->last_id = session_order(session);
        return true;
}

static bool put_counts_once(StateReply *reply) {
        if (reply->query->last_id > 0)
                return false;
        put_counts(reply);
        reply->query->last_id = 1;
        return true;
}

/* Writes one entry, or moves on to the next part. false: the answer is complete. */
static bool put_next(StateReply *reply) {
        static bool (*const put[_QUERY_STAGE_N])(StateReply *) = {
                [QUERY_PRODUCERS] = put_next_producer,
                [QUERY_SOURCES] = put_next_source,
                [QUERY_COUNTS] = put_counts_once,
                [QUERY_SESSIONS] = put_next_session,
        };
        ConsumerQuery *query = reply->query;

        if (query->stage == _QUERY_STAGE_N)
                return false;
        if (!put[query->stage](reply)) {
                query->stage++;
                query->last_id = 0;
        }
        return true;
}

static int query_batch(ConsumerQuery *query, bool *ret_more) {
        _cleanup_(freep) uint8_t *memory = malloc(port_message_max() + REPLY_SLACK);
        StateReply reply = { .consumer = query->consumer, .query = query, .memory = memory };

        if (!memory)
                return -ENOMEM;
        *ret_more = true;
        reply_begin(&reply);
        while (*ret_more && reply.n_sent < QUERY_BATCH_BYTES)
                *ret_more = put_next(&reply);
        reply_send(&reply, *ret_more);
        return 0;
}

ConsumerQuery *consumer_query_free(ConsumerQuery *query) {
        list_unlink(&query->link);
        query->consumer->n_queries--;
        free(query);
        return NULL;
}

static ConsumerQuery *query_first_ready(const Consumer *consumer) {
        ConsumerQuery *query;

        list_for_each (query, &consumer->queries, link)
                if (!query->awaits_producers)
                        return query;
        return NULL;
}

/* Others wait, so that there is no more than one batch at a time. */
void consumer_query_on(Consumer *consumer) {
        ConsumerQuery *query = query_first_ready(consumer);
        bool more;
        int r;

        if (!query)
                return;
        r = query_batch(query, &more);
        if (r < 0) {
                port_connection_break(consumer->connection, strerror(-r));
                return;
        }
        if (!more)
                consumer_query_free(query);
        consumer->is_telling = query_first_ready(consumer);
        if (consumer->is_telling)
                port_connection_await_drained(consumer->connection);
}

/* An answer in progress continues when the peer has read its last batch. */
static void query_begin(Consumer *consumer) {
        if (!consumer->is_telling)
                consumer_query_on(consumer);
}

void consumer_answer_query(Consumer *consumer) {
        ConsumerQuery *query;

        list_unlink(&consumer->query_link);
        list_for_each (query, &consumer->queries, link)
                query->awaits_producers = false;
        query_begin(consumer);
}

static void query_await(Consumer *consumer, void (*awaits)(Service *, uint64_t now)) {
        if (!list_is_linked(&consumer->query_link))
                list_append(&consumer->consumers->queries, &consumer->query_link);
        awaits(consumer->consumers->service, consumers_now(consumer->consumers));
}

static void on_may_start(void *userdata, const AccessRefusal *refusal) {
        Consumer *consumer = userdata;

        consumer->may_start = NULL;
        query_await(consumer, refusal ? service_gather : service_activate_all);
}

/* 0: they were asked. Producers are not started for a peer that is not known to have the permission. */
static int query_ask(Consumer *consumer) {
        _cleanup_(access_peer_deinit) AccessPeer peer = port_connection_peer(consumer->connection);
        const Consumers *consumers = consumer->consumers;

        if (consumer->may_start)
                return 0;
        if (!consumers->access.ops)
                return ACCESS_E_REFUSED;
        return consumers->access.ops->ask_quietly(
                &consumer->may_start, consumers->access.host, &peer, on_may_start, consumer);
}

/* Some producers run only while they are needed. A query for what can be recorded starts those that its peer may
 * record, and waits for them for a bounded time. */
static void query_await_producers(Consumer *consumer, ConsumerQuery *query) {
        query->awaits_producers = true;
        if (policy_may_start_producers(consumer->consumers->info,
                                       port_connection_identity(consumer->connection)))
                query_await(consumer, service_activate_all);
        else if (query_ask(consumer) != 0)
                query_await(consumer, service_gather);
}

void consumer_query_cancel(Consumer *consumer) {
        if (consumer->may_start)
                consumer->consumers->access.ops->cancel(consumer->may_start);
        list_unlink(&consumer->query_link);
}

int consumer_query_state(void *port, const PortRequest *request, const void *data, size_t n) {
        uint64_t numbers[_QUERY_FIELD_N] = {};
        Consumer *consumer = port;
        ConsumerQuery *query;
        int r;

        r = consumer_read_numbers(data, n, numbers, _QUERY_FIELD_N);
        if (r < 0)
                return r;
        if (consumer->n_queries >= CONSUMER_QUERIES_MAX)
                return port_refuse(consumer->connection, "too many wait: CONSUMER_QUERIES_MAX");
        query = calloc(1, sizeof(*query));
        if (!query)
                return -ENOMEM;
        *query = (ConsumerQuery){ .consumer = consumer, .request = *request };
        list_append(&consumer->queries, &query->link);
        consumer->n_queries++;
        if (numbers[QUERY_SESSIONS_ONLY]) {
                query->stage = QUERY_COUNTS;
                query_begin(consumer);
        } else {
                query_await_producers(consumer, query);
        }
        return 0;
}

int consumer_query_capabilities(void *port,
                                const PortRequest *request,
                                const void *data,
                                size_t n) {
        const Consumer *consumer = port;
        uint8_t memory[64];
        WireWriter writer;
        size_t begin;

        wire_writer_init(&writer, memory, sizeof(memory));
        begin = wire_begin(&writer, CAPABILITIES);
        wire_put_bool(&writer, HAS_QUERY_CAPABILITIES, true);
        for (unsigned event = 1; event <= 4; event *= 2)
                wire_put_uint(&writer, OBSERVABLE_EVENTS, event);
        wire_put_bool(&writer, HAS_CLONE_SESSION, true);
        wire_end(&writer, begin);
        port_reply(consumer->connection, request, false, memory, wire_writer_size(&writer));
        return 0;
}

int consumer_get_trace_stats(void *port, const PortRequest *request, const void *data, size_t n) {
        _cleanup_(bytes_deinit) Bytes stats = {}, reply = {};
        const Consumer *consumer = port;
        WireWriter writer;
        int r;

        if (!consumer->session)
                return consumer_has_no_session(consumer);
        r = session_append_stats(consumer->session->owned.session, &stats);
        if (r >= 0)
                r = bytes_reserve(&reply, stats.n + 2 * WIRE_VARINT_MAX);
        if (r < 0)
                return r;
        wire_writer_init(&writer, reply.data, reply.n_allocated);
        wire_put_bytes(&writer, STATS, stats.data, stats.n);
        port_reply(consumer->connection, request, false, reply.data, wire_writer_size(&writer));
        return 0;
}
