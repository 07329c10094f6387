/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * EnableTracing is answered when the recording has ended: at once, with the reason, when there is none. Polkit is
 * asked only about what could be done. As clients go on without an answer, what they say next waits until polkit has
 * answered.
 */

#include <errno.h>

#include "closer/closer.h"
#include "consumer-private.h"
#include "core/model/policy.h"
#include "core/trigger.h"
#include "shared/error.h"
#include "shared/fd.h"

/* Fields of perfetto.protos.EnableTracingRequest, and of the response. */
enum {
        ENABLE_CONFIG = 1,
        ENABLE_ATTACH_NOTIFICATION_ONLY = 2,
        _ENABLE_FIELD_N,

        ENABLED_DISABLED = 1,
        ENABLED_ERROR = 3,
};

#define ENABLED_BYTES_MAX (ACCESS_WHY_MAX + 64)

struct ConsumerStart {
        Consumer *consumer;
        Config *config;
        SessionOptions options;
        int fd;
        unsigned needs; /* POLICY_NEEDS_…, not granted yet */
        unsigned asked; /* the one that is asked about now */
        AccessQuestion *question;
        bool has_waited;
};

ConsumerStart *consumer_start_free(ConsumerStart *start) {
        if (!start)
                return NULL;
        if (start->question)
                start->consumer->consumers->access->cancel(start->question);
        config_free(start->config);
        closer_close(port_connection_user(start->consumer->connection), start->fd);
        free(start);
        return NULL;
}
DEFINE_CLEANUP(ConsumerStart *, consumer_start_free)

static void start_refuse(Consumer *consumer, const char *why) {
        uint8_t memory[ENABLED_BYTES_MAX];
        WireWriter writer;

        port_connection_log(consumer->connection, "EnableTracing is refused: %s", why);
        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_bool(&writer, ENABLED_DISABLED, true);
        wire_put_string(&writer, ENABLED_ERROR, why);
        consumer_call_reply(consumer, &consumer->enable, memory, wire_writer_size(&writer));
}

/* The outcome of the core, with its words where it has some. */
static int start_refuse_outcome(Consumer *consumer, int r, const SessionError *error) {
        if (r < 0)
                return r;
        start_refuse(consumer,
                     error->message[0] ? error->message : "it is not allowed, or not possible now");
        return 0;
}

static int start_refuse_output(Consumer *consumer, int r, const char *why) {
        if (r == OUTPUT_E_LIMIT)
                why = "too many outputs of this user are being written, or cannot be";
        start_refuse(consumer, why ?: strerror(-r));
        return 0;
}

/* All is checked and granted. */
static int start_session(ConsumerStart *start) {
        _cleanup_(consumer_session_freep) ConsumerSession *session = NULL;
        Consumer *consumer = start->consumer;
        Consumers *consumers = consumer->consumers;
        SessionError error = {};
        const char *why;
        int r;

        r = consumer_session_allocate(&session, consumers);
        if (r < 0)
                return r;
        if (start->options.has_output) {
                r = session_stream_open(&session->owned.stream,
                                        port_connection_user(consumer->connection),
                                        start->config,
                                        &start->fd,
                                        &why);
                if (r)
                        return start_refuse_output(consumer, r, why);
        }
        r = owned_session_new(
                &session->owned, consumers->service, start->config, &start->options, &error);
        if (r)
                return start_refuse_outcome(consumer, r, &error);
        start->config = NULL;
        consumer_session_publish(session);
        consumer_session_set_consumer(session, consumer);
        if (!session_is_deferred(session->owned.session))
                r = session_start(session->owned.session, consumers_now(consumers));
        TAKE(session);
        return error_fold(r);
}

static void on_answer(void *userdata, bool is_granted, const char *why);

/* The next question, or the session. 1: it waits for an answer. */
static int start_proceed(ConsumerStart *start) {
        const Consumers *consumers = start->consumer->consumers;
        _cleanup_(access_peer_deinit) AccessPeer peer = { .pidfd = -1 };
        char why[ACCESS_WHY_MAX] = "this needs polkit's permission, and there is nobody to ask";
        int r = ACCESS_E_DENIED;

        if (!start->needs)
                return start_session(start);
        start->asked = start->needs & -start->needs;
        peer = port_connection_peer(start->consumer->connection);
        if (consumers->access)
                r = consumers->access->ask(&start->question,
                                           consumers->access_host,
                                           &peer,
                                           start->asked,
                                           start->config,
                                           on_answer,
                                           start,
                                           why);
        if (r < 0)
                return r;
        if (r == 0)
                return 1;
        start_refuse(start->consumer, why);
        return 0;
}

static void on_answer(void *userdata, bool is_granted, const char *why) {
        ConsumerStart *start = userdata;
        Consumer *consumer = start->consumer;
        int r = 0;

        start->question = NULL;
        start->needs &= ~start->asked;
        if (is_granted)
                r = start_proceed(start);
        else
                start_refuse(consumer, why);
        if (r > 0)
                return;
        consumer->start = consumer_start_free(start);
        if (r < 0)
                port_connection_break(consumer->connection, strerror(-r));
        port_connection_resume(consumer->connection);
}

static int start_check(const ConsumerStart *start) {
        Consumers *consumers = start->consumer->consumers;
        SessionError error = {};
        int r;

        r = session_check(consumers->service,
                          start->config,
                          &start->options,
                          &error,
                          consumers_now(consumers));
        if (r == 0)
                return 0;
        r = start_refuse_outcome(start->consumer, r, &error);
        return r < 0 ? r : 1;
}

static int start_read(ConsumerStart *start, const uint8_t *config, size_t n_config) {
        const Consumers *consumers = start->consumer->consumers;
        ConfigError error = {};
        int r;

        r = config_new_from_bytes(&start->config, config, n_config, &error);
        if (r > 0)
                start_refuse(start->consumer, error.message);
        if (r)
                return r;
        start->options = (SessionOptions){
                .owner = *port_connection_identity(start->consumer->connection),
                .allows_missing = true,
        };
        /* As Perfetto's service: a descriptor that the config does not want is dropped. */
        start->options.has_output = start->config->pb->write_into_file && start->fd >= 0;
        start->needs = policy_session_needs(consumers->info,
                                            &start->options.owner,
                                            start->config,
                                            POLICY_SCOPE_DEFAULT,
                                            false,
                                            &start->options.scope);
        return 0;
}

static int start_new(Consumer *consumer, const uint8_t *config, size_t n_config) {
        _cleanup_(consumer_start_freep) ConsumerStart *start = calloc(1, sizeof(*start));
        int r;

        if (!start)
                return -ENOMEM;
        start->consumer = consumer;
        start->fd = port_connection_take_fd(consumer->connection);
        r = start_read(start, config, n_config);
        if (r == 0)
                r = start_check(start);
        if (r == 0)
                r = start_proceed(start);
        if (r <= 0 || !start->question)
                return r < 0 ? r : 0;
        port_connection_pause(consumer->connection);
        consumer->start = TAKE(start);
        return 0;
}

int consumer_enable_tracing(void *port, const PortRequest *request, const void *data, size_t n) {
        Consumer *consumer = port;
        uint64_t numbers[_ENABLE_FIELD_N] = {};
        const uint8_t *config;
        size_t n_config;
        int r;

        r = consumer_read_numbers(data, n, numbers, _ENABLE_FIELD_N);
        if (r == 0)
                r = consumer_read_bytes(data, n, ENABLE_CONFIG, &config, &n_config);
        if (r < 0)
                return r;
        consumer_call_open(consumer, &consumer->enable, request);
        if (numbers[ENABLE_ATTACH_NOTIFICATION_ONLY]) {
                if (consumer->session)
                        consumer_session_mark(consumer->session);
                return 0;
        }
        if (consumer->session || consumer->clone) {
                start_refuse(consumer,
                             "this connection has a session already; call FreeBuffers first");
                return 0;
        }
        return start_new(consumer, config, n_config);
}
