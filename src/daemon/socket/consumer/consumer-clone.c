/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A clone becomes the connection's session, to be read as any other. Clients pass a descriptor with every
 * CloneSession: it is for the clone of a session that streams to a file, and then the answer comes when it is
 * written.
 *
 * A snapshot that a trigger asked for is a clone already, made by the core at its moment: it waits until its number is
 * asked for, and is handed over as it is.
 */

#include <errno.h>

#include "closer/closer.h"
#include "consumer-private.h"
#include "core/model/policy.h"
#include "core/model/session-names.h"
#include "owner/outcome-words.h"
#include "owner/owned-clone.h"

/* Fields of perfetto.protos.CloneSessionRequest, and of the response. */
enum {
        CLONE_SESSION_ID = 1,
        CLONE_SKIP_FILTER = 2,
        CLONE_FOR_BUGREPORT = 3,
        _CLONE_FIELD_N,
        CLONE_SESSION_NAME = 4,

        CLONED_SUCCESS = 1,
        CLONED_ERROR = 2,
        CLONED_UUID_MSB = 3,
        CLONED_UUID_LSB = 4,
        CLONED_WAS_WRITTEN = 5,
};

#define CLONE_BUGREPORT_ID UINT64_MAX /* the one with the highest bugreport_score */
#define CLONED_BYTES_MAX   512

struct ConsumerClone {
        OwnedClone owned;
        Consumer *consumer;
        PortRequest request;
        ConsumerSession *session; /* NULL: not published yet */
};

ConsumerClone *consumer_clone_free(ConsumerClone *clone) {
        if (!clone)
                return NULL;
        owned_clone_deinit(&clone->owned);
        free(clone);
        return NULL;
}
DEFINE_CLEANUP(ConsumerClone *, consumer_clone_free)

static void reply_cloned(Consumer *consumer,
                         const PortRequest *request,
                         const ConsumerSession *session,
                         const char *error) {
        const uint64_t *uuid = session ? session_uuid(session->owned.session) : NULL;
        uint8_t memory[CLONED_BYTES_MAX];
        WireWriter writer;

        if (!session)
                port_connection_log(consumer->connection, "CloneSession is refused: %s", error);
        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_bool(&writer, CLONED_SUCCESS, session);
        wire_put_string(&writer, CLONED_ERROR, error);
        wire_put_uint(&writer, CLONED_UUID_MSB, uuid ? uuid[0] : 0);
        wire_put_uint(&writer, CLONED_UUID_LSB, uuid ? uuid[1] : 0);
        wire_put_bool(&writer,
                      CLONED_WAS_WRITTEN,
                      session && session_options(session->owned.session)->has_output);
        port_reply(consumer->connection, request, false, memory, wire_writer_size(&writer));
}

/* At this moment the clone has what the original has not read, and all else is with its output. */
static void on_cloned(OwnedClone *owned) {
        ConsumerClone *clone = container_of(owned, ConsumerClone, owned);
        const ConsumerSession *source;

        source = owned->outcome ? NULL : consumers_find(clone->consumer->consumers, owned->source);
        if (source)
                session_stream_copy(&owned->session->stream, &source->owned.stream);
        port_connection_mark(clone->consumer->connection);
}

static void clone_publish(ConsumerClone *clone) {
        clone->session = container_of(owned_clone_adopt(&clone->owned), ConsumerSession, owned);
        consumer_session_publish(clone->session);
        consumer_session_set_consumer(clone->session, clone->consumer);
}

void consumer_clone_work(Consumer *consumer) {
        ConsumerClone *clone = consumer->clone;
        int outcome;

        if (!clone || !clone->owned.is_answered)
                return;
        outcome = clone->owned.outcome;
        if (!outcome && !clone->session)
                clone_publish(clone);
        if (clone->session && session_options(clone->session->owned.session)->has_output &&
            !clone->session->owned.is_finished)
                return;
        reply_cloned(consumer,
                     &clone->request,
                     clone->session,
                     outcome ? clone_outcome_words(outcome) : clone->session->owned.stream.error);
        consumer->clone = consumer_clone_free(clone);
}

/* The peer's session with the highest bugreport_score, or NULL. */
static Session *find_for_bugreport(const Consumer *consumer) {
        const Consumers *consumers = consumer->consumers;
        const Identity *identity = port_connection_identity(consumer->connection);
        Session *session = NULL, *best = NULL;
        int32_t best_score = 0;

        while ((session = service_next_session(consumers->service, session))) {
                const int32_t score = session_config(session)->pb->bugreport_score;

                if (score <= best_score || session_cloned_from(session) ||
                    !policy_owns_session(consumers->info, identity, session))
                        continue;
                best_score = score;
                best = session;
        }
        return best;
}

/* Only root looks beyond its own name space. A name that several users have is not found: an id says which is meant. */
static Session *find_named(const Consumer *consumer, const char *name) {
        const Identity *identity = port_connection_identity(consumer->connection);
        const Consumers *consumers = consumer->consumers;
        Session *session;

        if (!policy_sees_all(consumers->info, identity))
                return session_find_own(consumers->service, identity->uid, name);
        session_find_any(&session, consumers->service, identity->uid, name);
        return session;
}

static int find_by_name(Session **ret, const Consumer *consumer, const void *data, size_t n) {
        char name[SESSION_NAME_MAX + 1];
        const uint8_t *bytes;
        size_t n_bytes;
        int r;

        *ret = NULL;
        r = consumer_read_bytes(data, n, CLONE_SESSION_NAME, &bytes, &n_bytes);
        if (r < 0 || n_bytes == 0 || n_bytes > SESSION_NAME_MAX)
                return r;
        memcpy(name, bytes, n_bytes);
        name[n_bytes] = 0;
        *ret = find_named(consumer, name);
        return 0;
}

/* *ret is NULL if no session matches. */
static int find_source(Session **ret,
                       const Consumer *consumer,
                       const uint64_t numbers[static _CLONE_FIELD_N],
                       const void *data,
                       size_t n) {
        const uint64_t id = numbers[CLONE_SESSION_ID];

        if (id == 0)
                return find_by_name(ret, consumer, data, n);
        *ret = id == CLONE_BUGREPORT_ID ? find_for_bugreport(consumer)
                                        : service_find_session(consumer->consumers->service, id);
        return 0;
}

/* Why the peer may not clone this session, or NULL. */
static const char *clone_refusal(const Consumer *consumer,
                                 const Session *source,
                                 const uint64_t numbers[static _CLONE_FIELD_N]) {
        const Identity *identity = port_connection_identity(consumer->connection);
        const ServiceInfo *info = consumer->consumers->info;

        if (!source || !policy_owns_session(info, identity, source))
                return "Tracing session not found";
        if (consumer->session || consumer->clone)
                return "this connection has a session already; call FreeBuffers first";
        if (numbers[CLONE_SKIP_FILTER] && !policy_may_skip_filter(info, identity))
                return "only root may leave out the session's trace filter";
        return NULL;
}

/* If the session is a snapshot that nobody has fetched, gives it to the connection. */
static bool hand_over_snapshot(Consumer *consumer, const Session *source) {
        ConsumerSession *session = consumers_find(consumer->consumers, source);

        if (!session || !session->owned.is_snapshot || session->owned.free_when_finished)
                return false;
        session->owned.is_snapshot = false;
        consumer_session_set_consumer(session, consumer);
        return true;
}

static int clone_open_output(const Consumer *consumer,
                             const Session *source,
                             ConsumerSession *session,
                             int *fd,
                             const char **ret_why) {
        int r;

        *ret_why = NULL;
        if (!session_options(source)->has_output)
                return 0;
        if (*fd < 0) {
                *ret_why = "Failed to clone 'write_into_file' session: a descriptor is needed";
                return OUTPUT_E_UNUSABLE;
        }
        r = session_stream_open(&session->owned.stream,
                                port_connection_user(consumer->connection),
                                session_config(source),
                                fd,
                                ret_why);
        if (r)
                *ret_why = output_outcome_words(r, *ret_why);
        return r;
}

static int clone_ask(ConsumerClone *clone,
                     Session *source,
                     ConsumerSession *session,
                     bool skips_filter,
                     SessionError *error) {
        const CloneOptions options = {
                .owner = *port_connection_identity(clone->consumer->connection),
                .has_output = session->owned.stream.output,
                .skips_filter = skips_filter,
        };

        return owned_clone_ask(&clone->owned, source, &session->owned, &options, on_cloned, error);
}

static int
clone_new(Consumer *consumer, const PortRequest *request, Session *source, bool skips, int *fd) {
        _cleanup_(consumer_clone_freep) ConsumerClone *clone = calloc(1, sizeof(*clone));
        _cleanup_(consumer_session_freep) ConsumerSession *session = NULL;
        SessionError error = {};
        const char *why;
        int r;

        if (!clone)
                return -ENOMEM;
        clone->consumer = consumer;
        clone->request = *request;
        r = consumer_session_allocate(&session, consumer->consumers);
        if (r < 0)
                return r;
        r = clone_open_output(consumer, source, session, fd, &why);
        if (r == 0) {
                why = error.message;
                r = clone_ask(clone, source, TAKE(session), skips, &error);
        }
        if (r) {
                reply_cloned(consumer, request, NULL, why && why[0] ? why : clone_outcome_words(r));
                return 0;
        }
        consumer->clone = TAKE(clone);
        return 0;
}

int consumer_clone_session(void *port, const PortRequest *request, const void *data, size_t n) {
        int fd;
        uint64_t numbers[_CLONE_FIELD_N] = {};
        Consumer *consumer = port;
        const char *refusal;
        Session *source = NULL;
        int r;

        r = consumer_read_numbers(data, n, numbers, _CLONE_FIELD_N);
        if (r == 0)
                r = find_source(&source, consumer, numbers, data, n);
        if (r < 0)
                return r;
        refusal = clone_refusal(consumer, source, numbers);
        if (refusal) {
                reply_cloned(consumer, request, NULL, refusal);
                return 0;
        }
        if (hand_over_snapshot(consumer, source)) {
                reply_cloned(consumer, request, consumer->session, "");
                return 0;
        }
        fd = port_connection_take_fd(consumer->connection);
        r = clone_new(consumer, request, source, numbers[CLONE_SKIP_FILTER], &fd);
        closer_close(port_connection_user(consumer->connection), fd);
        return r;
}
