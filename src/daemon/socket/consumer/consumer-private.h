/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Consumer port, inside: what its parts share
 *
 *      consumers-all.c      all sessions: their work, deadlines and end
 *      consumer-port.c      the methods, and how connections begin and end
 *      consumer-start.c     EnableTracing: checks the config, asks for permission, starts
 *      consumer-clone.c     CloneSession
 *      consumer-detach.c    Detach and Attach
 *      consumer-kept.c      sessions that the earlier process has left
 *      consumer-session.c   a session after its start: its output, snapshots, end and owner
 *      consumer-observe.c   ObserveEvents
 *      consumer-read.c      ReadBuffers
 *      consumer-flush.c     Flush
 *      consumer-query.c     QueryServiceState, QueryCapabilities, GetTraceStats
 *      consumer-call.c      how calls are read and answered
 *      consumers.c          finds sessions
 *
 * Calls go down in this list only.
 */

#include "consumers.h"
#include "core/session.h"
#include "shared/bytes.h"
#include "shared/fd.h"
#include "socket/link/port-observer.h"
#include "socket/link/port.h"
#include "wire/wire-reader.h"
#include "wire/wire-writer.h"

#define CONSUMER_FLUSHES_MAX 16 /* of one connection, not answered yet */
#define CONSUMER_QUERIES_MAX 16 /* QueryServiceState of one connection, likewise */

typedef struct Consumer Consumer;
typedef struct ConsumerClone ConsumerClone;
typedef struct ConsumerDetach ConsumerDetach;
typedef struct ConsumerSession ConsumerSession;
typedef struct ConsumerStart ConsumerStart;

/* A call that is answered later, or again and again. */
typedef struct ConsumerCall {
        bool is_open;
        PortRequest request;
} ConsumerCall;

/* A Flush that is not answered. */
typedef struct ConsumerFlush {
        Consumer *consumer;
        Session *session;
        PortRequest request;
        List link; /* consumer->flushes */
} ConsumerFlush;

/* The parts of an answer to QueryServiceState, in their order. */
typedef enum QueryStage {
        QUERY_PRODUCERS,
        QUERY_SOURCES,
        QUERY_COUNTS,
        QUERY_SESSIONS,
        _QUERY_STAGE_N,
} QueryStage;

/* A query that is still being answered, and how far the answer has come. */
typedef struct ConsumerQuery {
        Consumer *consumer;
        PortRequest request;
        List link;             /* consumer->queries */
        bool awaits_producers; /* that were started so that they can be listed */
        QueryStage stage;
        uint64_t last_id;       /* what the answer has named in this stage */
        uint64_t last_producer; /* of all stages */
        size_t n_sources;       /* sources of the next producer that are in the answer already */
} ConsumerQuery;

/* One connection. */
struct Consumer {
        PortConnection *connection;
        Consumers *consumers;
        ConsumerSession *session; /* NULL: it has none */
        ConsumerStart *start;     /* it wants to start one, and polkit is being asked */
        ConsumerDetach *detach;   /* it wants to detach it, and polkit is being asked */
        ConsumerClone *clone;     /* it wants a clone, which is being made */
        List flushes;             /* ConsumerFlush */
        size_t n_flushes;
        List queries; /* ConsumerQuery; answered one after the other */
        size_t n_queries;
        bool is_telling; /* the next batch follows when this one has been read */

        ConsumerCall enable;       /* EnableTracing: answered when the session has ended */
        ConsumerCall read;         /* ReadBuffers */
        ConsumerCall observe;      /* ObserveEvents */
        AccessQuestion *may_start; /* whether producers are to be started for the query is asked */
        List query_link;           /* consumers->queries */
        unsigned events;           /* that are observed */
        bool has_told_all_started;
};

struct ConsumerSession {
        OwnedSession owned;
        Consumers *consumers;
        Consumer *consumer;     /* NULL: none has it */
        char *key;              /* under which it was detached, if only once; NULL: it never was */
        uint64_t awaited_until; /* the process before had somebody attached; 0: nobody is awaited */
        const PortsObserver *observer; /* of this session; NULL: nobody */
        void *observed;
};

/* Takes the request out of the call, which is then over, to answer it. */
void consumer_call_reply(Consumer *consumer, ConsumerCall *call, const void *data, size_t n_data);
/* Opens the call for a request. If it was open already, its earlier request fails. */
void consumer_call_open(Consumer *consumer, ConsumerCall *call, const PortRequest *request);

static inline void access_peer_deinit(AccessPeer *peer) {
        fd_close(peer->pidfd);
}

/* Of a request's few fields: varints by number, below n_fields; fields of other types are skipped. -EBADMSG. */
int consumer_read_numbers(const void *data, size_t n_data, uint64_t *ret, size_t n_fields);
/* The last field with this number, of bytes; *ret is NULL if the field is missing. -EBADMSG. */
int consumer_read_bytes(const void *data,
                        size_t n_data,
                        uint32_t number,
                        const uint8_t **ret,
                        size_t *ret_n);

/* Refuses a call because the connection has no session. PORT_E_REFUSED. */
int consumer_has_no_session(const Consumer *consumer);

extern const OwnedOps consumer_owned_ops;

int consumer_session_allocate(ConsumerSession **ret, Consumers *consumers);
ConsumerSession *consumer_session_free(ConsumerSession *session);
DEFINE_CLEANUP(ConsumerSession *, consumer_session_free)

/* It has become a session of the core. */
void consumer_session_publish(ConsumerSession *session);
void consumer_session_set_consumer(ConsumerSession *session, Consumer *consumer);
/* The connection has given the session up or is gone: the session ends, unless it was detached. */
void consumer_session_drop(ConsumerSession *session);
void consumer_session_mark(ConsumerSession *session);

ConsumerSession *consumers_find(Consumers *consumers, const Session *session);
uint64_t consumers_now(const Consumers *consumers);

ConsumerStart *consumer_start_free(ConsumerStart *start);
ConsumerClone *consumer_clone_free(ConsumerClone *clone);
ConsumerDetach *consumer_detach_free(ConsumerDetach *detach);
void consumer_flush_cancel(ConsumerFlush *flush);

/* The core has made it, or its output is written. */
void consumer_clone_work(Consumer *consumer);

/* Sends the session's events to its consumer and to the observer that shows sessions to people. */
void consumer_tell_events(ConsumerSession *session);
void consumer_tell_snapshot(Consumer *consumer,
                            const ConsumerSession *snapshot,
                            const char *trigger);

/* The connection ends: nobody waits for the answer. */
void consumer_query_cancel(Consumer *consumer);
/* The producers that its queries have waited for are there. */
void consumer_answer_query(Consumer *consumer);
/* More of what QueryServiceState asks for. */
void consumer_query_on(Consumer *consumer);
ConsumerQuery *consumer_query_free(ConsumerQuery *query);

/* More of what ReadBuffers asks for. */
void consumer_read_on(Consumer *consumer);

/* The methods; their port is a Consumer. */
int consumer_enable_tracing(void *port, const PortRequest *request, const void *data, size_t n);
int consumer_detach(void *port, const PortRequest *request, const void *data, size_t n);
int consumer_attach(void *port, const PortRequest *request, const void *data, size_t n);
int consumer_read_buffers(void *port, const PortRequest *request, const void *data, size_t n);
int consumer_flush(void *port, const PortRequest *request, const void *data, size_t n);
int consumer_get_trace_stats(void *port, const PortRequest *request, const void *data, size_t n);
int consumer_observe_events(void *port, const PortRequest *request, const void *data, size_t n);
int consumer_query_state(void *port, const PortRequest *request, const void *data, size_t n);
int consumer_query_capabilities(void *port, const PortRequest *request, const void *data, size_t n);
int consumer_clone_session(void *port, const PortRequest *request, const void *data, size_t n);
