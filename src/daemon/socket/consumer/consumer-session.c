/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A session of a connection of the consumer port: owner/owned-session.h has its life; this file reports on it.
 */

#include <errno.h>

#include "consumer-private.h"

/* Fields of perfetto.protos.EnableTracingResponse. */
enum { ENABLED_DISABLED = 1, ENABLED_ERROR = 3 };

#define ENABLED_BYTES_MAX 256

void consumer_session_mark(ConsumerSession *session) {
        owned_session_mark(&session->owned);
}

int consumer_session_allocate(ConsumerSession **ret, Consumers *consumers) {
        ConsumerSession *session = calloc(1, sizeof(*session));

        if (!session)
                return -ENOMEM;
        session->consumers = consumers;
        owned_session_init(&session->owned, &consumers->sessions);
        *ret = session;
        return 0;
}

static void session_show(ConsumerSession *session) {
        const PortsObserver *observer = session->consumers->observer;

        if (observer && observer->session_came)
                session->observed = observer->session_came(session->consumers->observer_userdata,
                                                           session->owned.session,
                                                           &session->owned.stream);
        session->observer = session->observed ? observer : NULL;
}

void consumer_session_publish(ConsumerSession *session) {
        owned_session_publish(&session->owned);
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
        /* First, as the core now replies to flushes and clones, and these replies go to the connection. */
        owned_session_deinit(&session->owned);
        consumer_session_set_consumer(session, NULL);
        free(session->key);
        free(session);
        return NULL;
}

static ConsumerSession *of(const OwnedSession *owned) {
        return container_of(owned, ConsumerSession, owned);
}

static bool on_has_owner(const OwnedSession *owned) {
        return of(owned)->consumer || of(owned)->awaited_until > 0;
}

static void on_free(OwnedSession *owned) {
        consumer_session_free(of(owned));
}

static void
on_triggered(OwnedSession *owned, const char *trigger, const char *producer, uid_t uid) {
        const ConsumerSession *session = of(owned);

        if (session->observer)
                session->observer->session_triggered(session->observed, trigger, producer, uid);
}

static int on_snapshot_new(OwnedSession **ret, const OwnedSession *source) {
        ConsumerSession *snapshot;
        int r;

        r = consumer_session_allocate(&snapshot, of(source)->consumers);
        if (r < 0)
                return r;
        *ret = &snapshot->owned;
        return 0;
}

static int
on_snapshot_taken(OwnedSession *owned_source, OwnedSession *owned_snapshot, const char *trigger) {
        ConsumerSession *source = of(owned_source), *snapshot = of(owned_snapshot);

        consumer_session_publish(snapshot);
        if (source->consumer)
                consumer_tell_snapshot(source->consumer, snapshot, trigger);
        if (source->observer && snapshot->observer)
                source->observer->session_snapshot(source->observed, snapshot->observed, trigger);
        return 0;
}

void consumer_session_drop(ConsumerSession *session) {
        consumer_session_set_consumer(session, NULL);
        owned_session_leave(&session->owned);
}

/* Says that the recording is over, and what went wrong, if anything. */
static void consumer_tell_end(Consumer *consumer) {
        const ConsumerSession *session = consumer->session;
        uint8_t memory[ENABLED_BYTES_MAX];
        WireWriter writer;

        if (!consumer->enable.is_open)
                return;
        wire_writer_init(&writer, memory, sizeof(memory));
        wire_put_bool(&writer, ENABLED_DISABLED, true);
        if (session->owned.stream.error[0])
                wire_put_string(&writer, ENABLED_ERROR, session->owned.stream.error);
        consumer_call_reply(consumer, &consumer->enable, memory, wire_writer_size(&writer));
}

static void on_work(OwnedSession *owned) {
        ConsumerSession *session = of(owned);

        if (!owned_session_attend(owned))
                return;
        if (session->observer)
                session->observer->session_changed(session->observed);
        if (session->consumer)
                port_connection_mark(session->consumer->connection); /* a clone may be complete */
        consumer_tell_events(session);
        if (session->consumer && owned->is_finished)
                consumer_tell_end(session->consumer);
        owned_session_free_if_over(owned);
}

/* An error of the output is reported with the end. */
const OwnedOps consumer_owned_ops = {
        .has_owner = on_has_owner,
        .work = on_work,
        .free = on_free,
        .triggered = on_triggered,
        .snapshot_new = on_snapshot_new,
        .snapshot_taken = on_snapshot_taken,
};
