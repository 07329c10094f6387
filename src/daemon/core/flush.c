/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A producer is asked once for all of its instances in the session. The core drains shared memory by itself
 * when the answers are in; a flush is only for what producers hold elsewhere.
 */

#include <errno.h>

#include "core/session-private.h"

/* Not before the start, when there is nothing; not while it stops, which flushes by itself. */
static bool instance_wants_flush(const SourceInstance *instance, FlushGroup group) {
        if (group != FLUSH_GROUP_ALL &&
            instance->buffer->is_moved_on_clone != (group == FLUSH_GROUP_MOVED))
                return false;
        return instance_is_live(instance) && instance->state != INSTANCE_CONFIGURED &&
               instance->state != INSTANCE_STOPPING && !instance->offered->no_flush;
}

/* There is room for all instances of the session. */
static size_t flush_collect(const Flush *flush, const Producer *producer, uint64_t *instances) {
        const SourceInstance *instance;
        size_t n = 0;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->session == flush->session &&
                    instance_wants_flush(instance, flush->group))
                        instances[n++] = instance->id;
        return n;
}

static int flush_ask(Flush *flush, uint64_t flags) {
        _cleanup_(freep) uint64_t *instances = NULL;
        SourceInstance *instance;

        flush->pending = calloc(flush->session->n_instances + 1, sizeof(*flush->pending));
        instances = calloc(flush->session->n_instances + 1, sizeof(*instances));
        if (!flush->pending || !instances)
                return -ENOMEM;

        list_for_each (instance, &flush->session->instances, session_link) {
                Producer *producer = instance->producer;

                if (!instance_wants_flush(instance, flush->group) ||
                    producer->last_flush_id == flush->id)
                        continue;
                /* Marks who was asked, for its other instances in this list. */
                producer->last_flush_id = flush->id;
                flush->pending[flush->n_pending_slots++] = producer;
                flush->n_pending++;
                producer->ops->flush(producer->peer,
                                     flush->id,
                                     instances,
                                     flush_collect(flush, producer, instances),
                                     flags);
        }
        return 0;
}

int flush_new_group(Flush **ret,
                    Session *session,
                    FlushGroup group,
                    uint64_t timeout_ns,
                    uint64_t flags,
                    SessionFlushDone done,
                    void *userdata) {
        _cleanup_(flush_freep) Flush *flush = NULL;
        int r;

        flush = calloc(1, sizeof(*flush));
        if (!flush)
                return -ENOMEM;
        list_init(&flush->link);
        flush->session = session;
        flush->group = group;
        flush->id = ++session->service->last_flush_id;
        flush->deadline = session->service->now + timeout_ns;
        flush->done = done;
        flush->userdata = userdata;

        r = flush_ask(flush, flags);
        if (r < 0)
                return r;
        list_append(&session->flushes, &flush->link);
        session->n_flushes++;
        session->flushes_requested++;
        event_list_add(&session->events, EVENT_FLUSH_STARTED, session->service->now, NULL);
        *ret = TAKE(flush);
        return 0;
}

int flush_new(Flush **ret,
              Session *session,
              uint64_t timeout_ns,
              uint64_t flags,
              SessionFlushDone done,
              void *userdata) {
        return flush_new_group(ret, session, FLUSH_GROUP_ALL, timeout_ns, flags, done, userdata);
}

Flush *flush_free(Flush *flush) {
        if (!flush)
                return NULL;
        if (list_is_linked(&flush->link)) {
                list_unlink(&flush->link);
                flush->session->n_flushes--;
        }
        free(flush->pending);
        free(flush);
        return NULL;
}

void flush_producer_done(Flush *flush, const Producer *producer) {
        for (size_t i = 0; i < flush->n_pending_slots; i++) {
                if (flush->pending[i] != producer)
                        continue;
                flush->pending[i] = NULL;
                flush->n_pending--;
        }
}

static bool flush_awaits(const Flush *flush, const Producer *producer) {
        for (size_t i = 0; i < flush->n_pending_slots; i++)
                if (flush->pending[i] == producer)
                        return true;
        return false;
}

/* Names who has not answered, for the trace. */
static void flush_tell_slow(const Flush *flush, uint64_t now) {
        Bytes sources = {};
        const SourceInstance *instance;
        size_t n = 0;

        list_for_each (instance, &flush->session->instances, session_link)
                if (n < EVENT_NAMES_MAX && instance->producer &&
                    flush_awaits(flush, instance->producer)) {
                        n++;
                        event_sources_add(&sources,
                                          instance->producer_name,
                                          instance->source->pb->config->name);
                }
        event_list_add(&flush->session->events, EVENT_SLOW_FLUSHING_SOURCES, now, &sources);
        bytes_deinit(&sources);
}

/* The reply comes last: whoever asked may ask again from within it. */
void flush_finish(Flush *flush, int outcome) {
        Session *session = flush->session;
        SessionFlushDone done = flush->done;
        void *userdata = flush->userdata;

        if (outcome == 0) {
                session->flushes_succeeded++;
                event_list_add(
                        &session->events, EVENT_ALL_SOURCES_FLUSHED, session->service->now, NULL);
        } else {
                session->flushes_failed++;
        }
        flush_free(flush);
        if (done)
                done(userdata, outcome);
}

void flush_progress(Flush *flush, uint64_t now) {
        if (flush->n_pending > 0 && now < flush->deadline)
                return;

        /* What producers have answered for is in shared memory; of the silent ones what they had finished is. */
        session_drain(flush->session);
        if (flush->n_pending > 0)
                flush_tell_slow(flush, now);
        flush_finish(flush, flush->n_pending > 0 ? SESSION_E_TIMEOUT : 0);
}
