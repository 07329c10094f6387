/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The methods of Perfetto's consumer port, and the life of a connection. */

#include <assert.h>
#include <errno.h>

#include "consumer-port.h"
#include "consumer-private.h"
#include "core/model/policy.h"

/* Fields of perfetto.protos.…Request, and of responses. */
enum {
        CHANGE_CONFIG = 1,
        SAVED_SUCCESS = 1,
        SAVED_MESSAGE = 2,
};

static int reply_empty(Consumer *consumer, const PortRequest *request) {
        port_reply(consumer->connection, request, false, NULL, 0);
        return 0;
}

/* A session that already runs needs no start. */
static int start_tracing(void *port, const PortRequest *request, const void *data, size_t n) {
        Consumer *consumer = port;
        Session *session;
        int r;

        if (!consumer->session)
                return consumer_has_no_session(consumer);
        session = consumer->session->owned.session;
        r = session_start(session, consumers_now(consumer->consumers));
        if (r < 0)
                return r;
        if (r > 0 && session_state(session) > SESSION_STARTED)
                return port_refuse(consumer->connection,
                                   "the session is %s",
                                   session_state_name(session_state(session)));
        return reply_empty(consumer, request);
}

/* If nothing runs, there is nothing to stop. */
static int disable_tracing(void *port, const PortRequest *request, const void *data, size_t n) {
        Consumer *consumer = port;

        if (consumer->session) {
                session_disable(consumer->session->owned.session,
                                "stopped",
                                consumers_now(consumer->consumers));
                consumer_session_mark(consumer->session);
        }
        return reply_empty(consumer, request);
}

/* EnableTracing is answered before the other calls that wait: the recording is over. */
static int free_buffers(void *port, const PortRequest *request, const void *data, size_t n) {
        static const uint8_t disabled[] = { 1 << 3, true };
        Consumer *consumer = port;

        if (consumer->session) {
                if (consumer->enable.is_open)
                        consumer_call_reply(
                                consumer, &consumer->enable, disabled, sizeof(disabled));
                consumer_session_drop(consumer->session);
        }
        return reply_empty(consumer, request);
}

/* The response has no text, so the reason is logged. */
static int change_config(void *port, const PortRequest *request, const void *data, size_t n) {
        _cleanup_(config_freep) Config *config = NULL;
        Consumer *consumer = port;
        const uint8_t *bytes;
        SessionError why = {};
        ConfigError error = {};
        size_t n_bytes;
        int r;

        r = consumer_read_bytes(data, n, CHANGE_CONFIG, &bytes, &n_bytes);
        if (r < 0)
                return r;
        if (!consumer->session)
                return consumer_has_no_session(consumer);
        r = config_new_from_bytes(&config, bytes, n_bytes, &error);
        if (r > 0)
                return port_refuse(consumer->connection, "%s", error.message);
        if (r == 0)
                r = session_change_config(consumer->session->owned.session,
                                          config,
                                          &why,
                                          consumers_now(consumer->consumers));
        if (r > 0)
                return port_refuse(consumer->connection, "%s", why.message);
        if (r < 0)
                return r;
        TAKE(config);
        return reply_empty(consumer, request);
}

/* In Perfetto's own service, this method does nothing but refuse, too. */
static int save_for_bugreport(void *port, const PortRequest *request, const void *data, size_t n) {
        Consumer *consumer = port;
        uint8_t memory[64];
        WireWriter writer;

        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_bool(&writer, SAVED_SUCCESS, false);
        wire_put_string(&writer, SAVED_MESSAGE, "deprecated: call CloneSession");
        port_reply(consumer->connection, request, false, memory, wire_writer_size(&writer));
        return 0;
}

/* In the protocol's order. */
static const PortMethod consumer_methods[] = {
        { "EnableTracing", consumer_enable_tracing },
        { "DisableTracing", disable_tracing },
        { "ReadBuffers", consumer_read_buffers },
        { "FreeBuffers", free_buffers },
        { "Flush", consumer_flush },
        { "StartTracing", start_tracing },
        { "ChangeTraceConfig", change_config },
        { "Detach", consumer_detach },
        { "Attach", consumer_attach },
        { "GetTraceStats", consumer_get_trace_stats },
        { "ObserveEvents", consumer_observe_events },
        { "QueryServiceState", consumer_query_state },
        { "QueryCapabilities", consumer_query_capabilities },
        { "SaveTraceForBugreport", save_for_bugreport },
        { "CloneSession", consumer_clone_session },
};

/* The protocol has no way to wait for a permission before there is a session, so none is asked for. */
static int consumer_check_sandbox(PortConnection *connection) {
        const Identity *identity = port_connection_identity(connection);
        const Consumers *consumers = port_connection_shared(connection);
        const Confinement confinement = confinement_read(-1, identity->pid);

        if (policy_may_consume(consumers->info, identity, confinement))
                return 0;
        return port_refuse(connection,
                           "its program is in %s%s, so it may only be recorded",
                           confinement == CONFINEMENT_UNKNOWN ? "a place that /proc does not show"
                                                              : "the sandbox of ",
                           confinement == CONFINEMENT_UNKNOWN ? "" : confinement_name(confinement));
}

static int consumer_open(void **ret, PortConnection *connection) {
        Consumer *consumer;
        int r;

        r = consumer_check_sandbox(connection);
        if (r)
                return r;
        consumer = calloc(1, sizeof(*consumer));
        if (!consumer)
                return -ENOMEM;
        consumer->connection = connection;
        consumer->consumers = port_connection_shared(connection);
        list_init(&consumer->flushes);
        list_init(&consumer->queries);
        list_init(&consumer->query_link);
        *ret = consumer;
        return 0;
}

static void consumer_close(void *port) {
        Consumer *consumer = port;
        ConsumerFlush *flush;
        ConsumerQuery *query;

        consumer_start_free(consumer->start);
        consumer_clone_free(consumer->clone);
        consumer_detach_free(consumer->detach);
        list_for_each (flush, &consumer->flushes, link)
                consumer_flush_cancel(flush);
        list_for_each (query, &consumer->queries, link)
                consumer_query_free(query);
        consumer_query_cancel(consumer);
        if (consumer->session)
                consumer_session_drop(consumer->session);
        assert(consumer->n_flushes == 0 && consumer->n_queries == 0 && !consumer->session);
        free(consumer);
}

static void consumer_drained(void *port) {
        consumer_read_on(port);
        consumer_query_on(port);
}

static void consumer_work(void *port) {
        consumer_clone_work(port);
}

const PortService consumer_port = {
        .name = "ConsumerPort",
        .methods = consumer_methods,
        .n_methods = ARRAY_SIZE(consumer_methods),
        .open = consumer_open,
        .close = consumer_close,
        .drained = consumer_drained,
        .work = consumer_work,
};
