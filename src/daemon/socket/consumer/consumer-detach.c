/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A detached session belongs to its user and has a key; any connection of that user can attach to it by the key. This
 * holds for root, too.
 */

#include <errno.h>

#include "consumer-private.h"
#include "core/model/policy.h"
#include "owner/permission.h"

/* Fields of perfetto.protos.DetachRequest and AttachRequest, and of the latter's response. */
enum {
        DETACH_KEY = 1,
        ATTACHED_CONFIG = 1,
};

struct ConsumerDetach {
        Permission permission;
        Consumer *consumer;
        PortRequest request;
        char key[CONSUMER_KEY_MAX + 1];
};

/* The one that nobody has: while somebody is attached to a session, another may be detached under the same key. */
static ConsumerSession *consumer_find_key(const Consumer *consumer, const char *key) {
        const uid_t uid = port_connection_identity(consumer->connection)->uid;
        ConsumerSession *session;

        list_for_each (session, &consumer->consumers->sessions.all, owned.link)
                if (!session->consumer && session->key && streq(session->key, key) &&
                    session_options(session->owned.session)->owner.uid == uid)
                        return session;
        return NULL;
}

ConsumerDetach *consumer_detach_free(ConsumerDetach *detach) {
        if (!detach)
                return NULL;
        permission_deinit(&detach->permission);
        free(detach);
        return NULL;
}
DEFINE_CLEANUP(ConsumerDetach *, consumer_detach_free)

/* Two that were left behind could not be told apart. */
static void consumer_forget_key(const Consumer *consumer, const char *key) {
        const uid_t uid = port_connection_identity(consumer->connection)->uid;
        ConsumerSession *session;

        list_for_each (session, &consumer->consumers->sessions.all, owned.link)
                if (session->key && streq(session->key, key) &&
                    session_options(session->owned.session)->owner.uid == uid)
                        free(TAKE(session->key));
}

static int detach_session(Consumer *consumer, const PortRequest *request, const char *key) {
        ConsumerSession *session = consumer->session;
        char *copy;

        copy = strdup(key);
        if (!copy)
                return -ENOMEM;
        consumer_forget_key(consumer, key);
        free(session->key);
        session->key = copy;
        session_set_detached(session->owned.session, true);
        consumer_session_set_consumer(session, NULL);
        consumer->enable.is_open = false; /* nobody is left to be told of its end */
        consumer_session_mark(session);
        port_reply(consumer->connection, request, false, NULL, 0);
        return 0;
}

/* The session may have gone meanwhile, and another may have taken the key. */
static void on_answer(Permission *permission, int outcome, const AccessRefusal *refusal) {
        ConsumerDetach *detach = container_of(permission, ConsumerDetach, permission);
        const char *why = refusal ? refusal->why : "there is no memory for it";
        Consumer *consumer = detach->consumer;
        PortConnection *connection = consumer->connection;
        int r = outcome;

        if (r == 0 && consumer->session && !consumer_find_key(consumer, detach->key)) {
                r = detach_session(consumer, &detach->request, detach->key);
        } else if (r == 0) {
                r = PORT_E_REFUSED;
                why = "the session has ended, or another has its key now";
        }
        if (r) {
                port_connection_log(connection, "Detach is refused: %s", why);
                port_fail(connection, &detach->request);
        }
        consumer->detach = consumer_detach_free(detach);
        port_connection_resume(connection);
}

static int detach_new(ConsumerDetach **ret,
                      Consumer *consumer,
                      const PortRequest *request,
                      unsigned needs,
                      const char *key) {
        ConsumerDetach *detach;

        detach = calloc(1, sizeof(*detach));
        if (!detach)
                return -ENOMEM;
        *detach = (ConsumerDetach){
                .permission = {
                        .access = consumer->consumers->access,
                        .peer = port_connection_peer(consumer->connection),
                        .needs = needs,
                        .config = session_config(consumer->session->owned.session),
                        .is_interactive = true,
                        .done = on_answer,
                },
                .consumer = consumer,
                .request = *request,
        };
        strcpy(detach->key, key);
        *ret = detach;
        return 0;
}

/* The peer's next messages wait for the answer, as one of them may end the connection. */
static int
detach_ask(Consumer *consumer, const PortRequest *request, unsigned needs, const char *key) {
        _cleanup_(consumer_detach_freep) ConsumerDetach *detach = NULL;
        AccessRefusal refusal;
        int r;

        r = detach_new(&detach, consumer, request, needs, key);
        if (r < 0)
                return r;
        r = permission_ask(&detach->permission, &refusal);
        if (r < 0)
                return r;
        if (r == PERMISSION_E_REFUSED)
                return port_refuse(consumer->connection, "%s", refusal.why);
        port_connection_pause(consumer->connection);
        consumer->detach = TAKE(detach);
        return 0;
}

static int read_key(const Consumer *consumer,
                    char ret[static CONSUMER_KEY_MAX + 1],
                    const void *data,
                    size_t n_data) {
        const uint8_t *key;
        size_t n;
        int r;

        r = consumer_read_bytes(data, n_data, DETACH_KEY, &key, &n);
        if (r < 0)
                return r;
        if (n == 0 || n > CONSUMER_KEY_MAX || memchr(key, 0, n))
                return port_refuse(consumer->connection,
                                   "a key has 1 to %d bytes: CONSUMER_KEY_MAX",
                                   CONSUMER_KEY_MAX);
        memcpy(ret, key, n);
        ret[n] = 0;
        return 0;
}

/* One without a deadline needs a permission, which is asked for if there is somebody to ask. */
int consumer_detach(void *port, const PortRequest *request, const void *data, size_t n) {
        Consumer *consumer = port;
        char key[CONSUMER_KEY_MAX + 1];
        unsigned needs;
        int r;

        r = read_key(consumer, key, data, n);
        if (r)
                return r;
        if (!consumer->session)
                return consumer_has_no_session(consumer);
        if (consumer_find_key(consumer, key))
                return port_refuse(consumer->connection,
                                   "another session is detached under this key");
        needs = policy_detach_needs(consumer->consumers->info,
                                    port_connection_identity(consumer->connection),
                                    consumer->session->owned.session);
        if (needs)
                return detach_ask(consumer, request, needs, key);
        return detach_session(consumer, request, key);
}

static int reply_config(Consumer *consumer, const PortRequest *request, const Config *config) {
        _cleanup_(bytes_deinit) Bytes reply = {};
        WireWriter writer;

        if (bytes_reserve(&reply, config->n_bytes + 2 * WIRE_VARINT_MAX) < 0)
                return -ENOMEM;
        wire_writer_init(&writer, reply.data, reply.n_allocated);
        wire_put_bytes(&writer, ATTACHED_CONFIG, config->bytes, config->n_bytes);
        port_reply(consumer->connection, request, false, reply.data, wire_writer_size(&writer));
        return 0;
}

/* Clients also call this to find out whether a session exists, so a missing one is not logged. */
int consumer_attach(void *port, const PortRequest *request, const void *data, size_t n) {
        Consumer *consumer = port;
        char key[CONSUMER_KEY_MAX + 1];
        ConsumerSession *session;
        int r;

        r = read_key(consumer, key, data, n);
        if (r)
                return r;
        session = consumer_find_key(consumer, key);
        if (!session)
                return port_refuse_quietly(consumer->connection, "no session has this key");
        if (consumer->session || consumer->clone)
                return port_refuse(consumer->connection,
                                   "this connection has a session already; call FreeBuffers first");
        session->awaited_until = 0;
        session_set_detached(session->owned.session, false);
        consumer_session_set_consumer(session, consumer);
        return reply_config(consumer, request, session_config(session->owned.session));
}
