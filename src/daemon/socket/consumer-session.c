/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What the core says of a session only marks it; the rest is done by consumers_settle(), when the core has returned.
 */

#include <errno.h>
#include <inttypes.h>

#include "consumer-private.h"
#include "core/session-clone.h"
#include "shared/log-user.h"

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

static void session_show(ConsumerSession *session) {
        const PortsObserver *observer = session->consumers->observer;

        if (observer && observer->session_came)
                session->observed = observer->session_came(
                        session->consumers->observer_userdata, session->session, &session->stream);
        session->observer = session->observed ? observer : NULL;
}

void consumer_session_publish(ConsumerSession *session) {
        session->stream.session = session->session;
        list_append(&session->consumers->sessions, &session->link);
        session_show(session);
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
        if (session->observer)
                session->observer->session_goes(session->observed);
        session->observer = NULL;
        /* Next: what flushes and clones of it wait for is told by the core, to the connection. */
        session->session = session_free(session->session);
        consumer_session_set_consumer(session, NULL);
        session_stream_deinit(&session->stream);
        list_unlink(&session->link);
        list_unlink(&session->dirty_link);
        free(session->key);
        free(session);
        return NULL;
}

const char *consumer_clone_error(int outcome) {
        switch (outcome) {
        case SESSION_E_STATE:
                return "the session has ended while it was cloned";
        case SESSION_E_LIMIT:
                return "there are too many sessions, or of this user, or flushes";
        default:
                return outcome < 0 ? strerror(-outcome) : "it is not possible now";
        }
}

static void op_triggered(void *peer, const char *trigger, const char *producer, uid_t uid) {
        const ConsumerSession *session = peer;

        log_user(uid,
                 LOG_INFO,
                 "session %" PRIu64 ": trigger \"%s\" from \"%s\", uid %u",
                 session_id(session->session),
                 trigger,
                 producer,
                 (unsigned)uid);
        if (session->observer)
                session->observer->session_triggered(session->observed, trigger, producer, uid);
}

/* The oldest that nobody has fetched is dropped, when it can be: outside of the core. */
static void drop_old_snapshots(Consumers *consumers, uint64_t source) {
        ConsumerSession *session;
        size_t n = 0;

        list_for_each (session, &consumers->sessions, link)
                n += session->is_snapshot && session_cloned_from(session->session) == source;
        list_for_each (session, &consumers->sessions, link) {
                if (n <= SESSION_TRIGGERED_CLONES_MAX)
                        return;
                if (!session->is_snapshot || session_cloned_from(session->session) != source)
                        continue;
                session->is_snapshot = false;
                session->free_when_finished = true;
                consumer_session_mark(session);
                n--;
        }
}

static void op_snapshot_failed(void *peer, const char *trigger, int outcome, const char *why) {
        const ConsumerSession *session = peer;

        log_user(session_options(session->session)->owner.uid,
                 LOG_NOTICE,
                 "session %" PRIu64 ": no snapshot for trigger \"%s\": %s",
                 session_id(session->session),
                 trigger,
                 why[0] ? why : consumer_clone_error(outcome));
}

static void op_snapshot_taken(void *peer, Session *clone, const char *trigger) {
        ConsumerSession *source = peer, *snapshot;

        if (consumer_session_allocate(&snapshot, source->consumers) < 0) {
                session_free(clone);
                op_snapshot_failed(peer, trigger, -ENOMEM, "");
                return;
        }
        snapshot->session = clone;
        snapshot->is_snapshot = true;
        session_adopt(clone, &consumer_session_ops, snapshot);
        consumer_session_publish(snapshot);
        if (source->consumer)
                consumer_tell_snapshot(source->consumer, snapshot, trigger);
        if (source->observer && snapshot->observer)
                source->observer->session_snapshot(source->observed, snapshot->observed, trigger);
        drop_old_snapshots(source->consumers, session_id(source->session));
}

const SessionOps consumer_session_ops = {
        .changed = op_changed,
        .output_due = op_output_due,
        .triggered = op_triggered,
        .snapshot_taken = op_snapshot_taken,
        .snapshot_failed = op_snapshot_failed,
};

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
        if (session->observer)
                session->observer->session_changed(session->observed);
        if (session->consumer)
                port_connection_mark(session->consumer->connection); /* a clone may be complete */
        consumer_tell_events(session);
        if (session->consumer && session->is_finished)
                consumer_tell_end(session->consumer);
        if (session->free_when_finished && session->is_finished)
                consumer_session_free(session);
}
