/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * EnableTracing is answered when the recording has ended, or at once with the reason if it cannot begin. Polkit is
 * asked only about sessions that could be recorded. Clients continue without waiting for the answer, so their next
 * messages wait until polkit has answered.
 */

#include <errno.h>

#include "closer/closer.h"
#include "consumer-private.h"
#include "owner/outcome-words.h"
#include "owner/owned-start.h"
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
        OwnedStart owned;
        Consumer *consumer;
};

ConsumerStart *consumer_start_free(ConsumerStart *start) {
        if (!start)
                return NULL;
        closer_close(start->owned.user, start->owned.output_fd);
        owned_start_deinit(&start->owned);
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

/* Logs the outcome of the core, with its error text if there is one. */
static int start_refuse_outcome(Consumer *consumer, int r, const SessionError *error) {
        if (r < 0)
                return r;
        start_refuse(consumer,
                     error->message[0] ? error->message : "it is not allowed, or not possible now");
        return 0;
}

/* All is checked and granted. */
static int start_session(ConsumerStart *start) {
        _cleanup_(consumer_session_freep) ConsumerSession *session = NULL;
        Consumer *consumer = start->consumer;
        OwnedStartError why;
        int r;

        r = consumer_session_allocate(&session, consumer->consumers);
        if (r < 0)
                return r;
        r = owned_start_make(&start->owned, &session->owned, &why);
        if (r && why.is_output) {
                start_refuse(consumer, output_outcome_words(r, why.why));
                return 0;
        }
        if (r)
                return start_refuse_outcome(consumer, r, &why.session);
        consumer_session_publish(session);
        consumer_session_set_consumer(session, consumer);
        r = owned_start_run(&session->owned);
        TAKE(session);
        return error_fold(r);
}

/* 1: it waits for polkit's answer. */
static int start_proceed(ConsumerStart *start) {
        AccessRefusal refusal;
        int r;

        r = permission_ask(&start->owned.permission, &refusal);
        if (r < 0)
                return r;
        if (r == PERMISSION_E_WAITS)
                return 1;
        if (r == 0)
                return start_session(start);
        start_refuse(start->consumer, refusal.why);
        return 0;
}

static void on_answer(Permission *permission, int outcome, const AccessRefusal *refusal) {
        ConsumerStart *start = container_of(permission, ConsumerStart, owned.permission);
        Consumer *consumer = start->consumer;
        int r = outcome;

        if (refusal)
                start_refuse(consumer, refusal->why);
        else if (r == 0)
                r = start_session(start);
        consumer->start = consumer_start_free(start);
        if (r < 0)
                port_connection_break(consumer->connection, strerror(-r));
        port_connection_resume(consumer->connection);
}

/* As Perfetto's service: a descriptor that the config does not want is dropped. */
static int start_read(ConsumerStart *start, const uint8_t *config, size_t n_config) {
        OwnedStart *owned = &start->owned;
        ConfigError error = {};
        int r;

        r = config_new_from_bytes(&owned->config, config, n_config, &error);
        if (r > 0)
                start_refuse(start->consumer, error.message);
        if (r)
                return r;
        owned->options = (SessionOptions){
                .allows_missing = true,
                .is_kept = start->consumer->consumers->keeps,
                .has_output = owned->config->pb->write_into_file && owned->output_fd >= 0,
        };
        return 0;
}

static int start_check(ConsumerStart *start) {
        SessionError error = {};
        int r;

        r = owned_start_check(
                &start->owned, start->consumer->consumers->info, POLICY_SCOPE_DEFAULT, &error);
        if (r == 0)
                return 0;
        r = start_refuse_outcome(start->consumer, r, &error);
        return r < 0 ? r : 1;
}

static int start_request_new(ConsumerStart **ret, Consumer *consumer) {
        Consumers *consumers = consumer->consumers;
        ConsumerStart *start;
        AccessPeer peer;

        start = calloc(1, sizeof(*start));
        if (!start)
                return -ENOMEM;
        peer = port_connection_peer(consumer->connection);
        start->consumer = consumer;
        owned_start_init(&start->owned,
                         &consumers->sessions,
                         consumers->service,
                         &consumers->access,
                         &peer,
                         on_answer);
        /* The protocol has no flag for interactive authorization, so these callers always get it. */
        start->owned.permission.is_interactive = true;
        start->owned.output_fd = port_connection_take_fd(consumer->connection);
        *ret = start;
        return 0;
}

static int start_new(Consumer *consumer, const uint8_t *config, size_t n_config) {
        _cleanup_(consumer_start_freep) ConsumerStart *start = NULL;
        int r;

        r = start_request_new(&start, consumer);
        if (r < 0)
                return r;
        r = start_read(start, config, n_config);
        if (r == 0)
                r = start_check(start);
        if (r == 0)
                r = start_proceed(start);
        if (r <= 0 || !start->owned.permission.question)
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
