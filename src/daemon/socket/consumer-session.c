/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What the core says of a session only marks it; the rest is done by consumers_settle(), when the core has returned.
 */

#include <errno.h>

#include "consumer-private.h"
#include "shared/log.h"

/* Fields of perfetto.protos.EnableTracingResponse. */
enum { ENABLED_DISABLED = 1, ENABLED_ERROR = 3 };

#define ENABLED_BYTES_MAX 256

void consumer_session_mark(ConsumerSession *session) {
        if (!list_is_linked(&session->dirty_link))
                list_append(&session->consumers->dirty, &session->dirty_link);
}

static void op_changed(void *peer) {
        consumer_session_mark(peer);
}

static void op_output_due(void *peer) {
        ConsumerSession *session = peer;

        session_stream_due(&session->stream);
}

const SessionOps consumer_session_ops = {
        .changed = op_changed,
        .output_due = op_output_due,
        .triggered = consumer_op_triggered,
        .snapshot_taken = consumer_op_snapshot_taken,
        .snapshot_failed = consumer_op_snapshot_failed,
};

static void on_stream_changed(SessionStream *stream) {
        consumer_session_mark(container_of(stream, ConsumerSession, stream));
}

/* Its error is told with the end. */
static void on_stream_failed(SessionStream *stream) {
}

int consumer_session_allocate(ConsumerSession **ret, Consumers *consumers) {
        ConsumerSession *session = calloc(1, sizeof(*session));

        if (!session)
                return -ENOMEM;
        session->consumers = consumers;
        list_init(&session->link);
        list_init(&session->dirty_link);
        session_stream_init(
                &session->stream, &consumers->pump, on_stream_changed, on_stream_failed);
        *ret = session;
        return 0;
}

void consumer_session_publish(ConsumerSession *session) {
        session->stream.session = session->session;
        list_append(&session->consumers->sessions, &session->link);
        consumer_session_mark(session);
}

void consumer_session_set_consumer(ConsumerSession *session, Consumer *consumer) {
        if (session->consumer)
                session->consumer->session = NULL;
        session->consumer = consumer;
        if (!consumer)
                return;
        consumer->session = session;
        consumer->has_told_all_started = false;
        consumer_session_mark(session);
}

ConsumerSession *consumer_session_free(ConsumerSession *session) {
        if (!session)
                return NULL;
        /* First: what flushes and clones of it wait for is told by the core, to the connection. */
        session->session = session_free(session->session);
        consumer_session_set_consumer(session, NULL);
        session_stream_deinit(&session->stream);
        list_unlink(&session->link);
        list_unlink(&session->dirty_link);
        free(session->key);
        free(session);
        return NULL;
}

/* Nobody could get at the data any more, unless it goes to an output: that is still written. */
void consumer_session_drop(ConsumerSession *session) {
        consumer_session_set_consumer(session, NULL);
        if (!session_options(session->session)->has_output ||
            session_stream_is_settled(&session->stream)) {
                consumer_session_free(session);
                return;
        }
        session->free_when_finished = true;
        session_stop(session->session, "owner-gone", consumers_now(session->consumers));
        consumer_session_mark(session);
}

/* What nobody has keeps its data for a while, and nothing when it was written out. */
uint64_t consumer_session_deadline(const ConsumerSession *session) {
        if (session->consumer || !session->is_finished)
                return UINT64_MAX;
        return session_stopped_at(session->session) +
               (session_options(session->session)->has_output ? 0 : SESSION_LINGER_NS);
}

/* That the recording is over, and what was wrong if it did not just end. */
static void consumer_tell_end(Consumer *consumer) {
        const ConsumerSession *session = consumer->session;
        uint8_t memory[ENABLED_BYTES_MAX];
        WireWriter writer;

        if (!consumer->enable.is_open)
                return;
        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_bool(&writer, ENABLED_DISABLED, true);
        if (session->stream.error[0])
                wire_put_string(&writer, ENABLED_ERROR, session->stream.error);
        consumer_call_reply(consumer, &consumer->enable, memory, wire_writer_size(&writer));
}

void consumer_session_work(ConsumerSession *session) {
        if (!session->session)
                return; /* a clone to be, whose output has something to say */
        session_stream_attend(&session->stream);
        /* In this order: an output that is done has said before whether it failed. */
        session->is_finished = session_stream_is_settled(&session->stream);
        session_stream_check(&session->stream);
        if (session->consumer) {
                port_connection_mark(session->consumer->connection); /* a clone may be complete */
                consumer_tell_events(session->consumer);
                if (session->is_finished)
                        consumer_tell_end(session->consumer);
        }
        if (session->free_when_finished && session->is_finished)
                consumer_session_free(session);
}
