/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Flush: each call has one reply. */

#include <errno.h>

#include "consumer-private.h"

/* Fields of perfetto.protos.FlushRequest. */
enum {
        FLUSH_TIMEOUT_MS = 1,
        FLUSH_FLAGS = 2,
        _FLUSH_FIELD_N,
};

#define NS_PER_MS UINT64_C(1000000)

static ConsumerFlush *flush_free(ConsumerFlush *flush) {
        list_unlink(&flush->link);
        flush->consumer->n_flushes--;
        free(flush);
        return NULL;
}

void consumer_flush_cancel(ConsumerFlush *flush) {
        session_flush_cancel(flush->session, flush);
        flush_free(flush);
}

/* The protocol can only say that some producers did not answer; the trace names them. */
static void on_flushed(void *userdata, int outcome) {
        ConsumerFlush *flush = userdata;
        PortConnection *connection = flush->consumer->connection;
        InstanceCursor cursor = {};
        InstanceInfo silent;

        if (outcome || session_next_silent(flush->session, &cursor, &silent))
                port_fail(connection, &flush->request);
        else
                port_reply(connection, &flush->request, false, NULL, 0);
        flush_free(flush);
}

int consumer_flush(void *port, const PortRequest *request, const void *data, size_t n) {
        uint64_t numbers[_FLUSH_FIELD_N] = {};
        Consumer *consumer = port;
        ConsumerFlush *flush;
        int r;

        r = consumer_read_numbers(data, n, numbers, _FLUSH_FIELD_N);
        if (r < 0)
                return r;
        if (!consumer->session)
                return consumer_has_no_session(consumer);
        if (consumer->n_flushes >= CONSUMER_FLUSHES_MAX)
                return port_refuse(consumer->connection, "too many wait: CONSUMER_FLUSHES_MAX");
        flush = calloc(1, sizeof(*flush));
        if (!flush)
                return -ENOMEM;
        *flush = (ConsumerFlush){
                .consumer = consumer,
                .session = consumer->session->owned.session,
                .request = *request,
        };
        list_append(&consumer->flushes, &flush->link);
        consumer->n_flushes++;
        r = session_flush(flush->session,
                          (uint32_t)numbers[FLUSH_TIMEOUT_MS] * NS_PER_MS,
                          numbers[FLUSH_FLAGS],
                          on_flushed,
                          flush,
                          consumers_now(consumer->consumers));
        if (r == 0)
                return 0;
        flush_free(flush); /* it has not been answered */
        return r < 0 ? r
                     : port_refuse(consumer->connection,
                                   r == SESSION_E_LIMIT ? "too many wait: SESSION_FLUSHES_MAX"
                                                        : "the session does not record");
}
