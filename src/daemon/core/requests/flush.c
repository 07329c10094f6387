/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A producer is asked once for all of its instances in the session. The core drains shared memory on its own when
 * the answers are in; a flush is only for what producers hold elsewhere.
 */

#include <errno.h>

#include "core/events/self-trace.h"
#include "core/ingest/producer-take.h"
#include "core/model/session.h"
#include "core/requests/flush.h"
#include "core/requests/session-wait.h"

/* Not before the start, when there is nothing; not while it stops, as a stop flushes as well. */
static bool instance_wants_flush(const SourceInstance *instance, FlushGroup group) {
        return flush_group_has(group, instance->buffer) && instance_is_live(instance) &&
               instance->state != INSTANCE_CONFIGURED && instance->state != INSTANCE_STOPPING &&
               !instance->offered->no_flush;
}

/* `instances` has room for all instances of the session. */
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

        flush->slots = calloc(flush->session->n_instances + 1, sizeof(*flush->slots));
        instances = calloc(flush->session->n_instances + 1, sizeof(*instances));
        if (!flush->slots || !instances)
                return -ENOMEM;

        list_for_each (instance, &flush->session->instances, session_link) {
                Producer *producer = instance->producer;

                if (!instance_wants_flush(instance, flush->group) ||
                    producer->last_flush_id == flush->id)
                        continue;
                /* Marks who was asked, for its other instances in this list. */
                producer->last_flush_id = flush->id;
                flush->slots[flush->n_slots++] = (FlushSlot){
                        .producer = producer,
                        .request = ++producer->last_flush_request,
                };
                flush->n_pending++;
                producer->ops->flush(producer->peer,
                                     producer->last_flush_request,
                                     instances,
                                     flush_collect(flush, producer, instances),
                                     flags);
        }
        return 0;
}

void flush_ask_again(const Flush *flush, Producer *producer) {
        _cleanup_(freep) uint64_t *instances = NULL;

        for (size_t i = 0; i < flush->n_slots; i++) {
                if (flush->slots[i].producer != producer)
                        continue;
                instances = calloc(flush->session->n_instances + 1, sizeof(*instances));
                if (!instances) /* it has a deadline */
                        return;
                producer->ops->flush(producer->peer,
                                     flush->slots[i].request,
                                     instances,
                                     flush_collect(flush, producer, instances),
                                     0);
                return;
        }
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
        session_expect_answers(session, session->service->now);
        event_list_add(&session->events, EVENT_FLUSH_STARTED, session->service->now, NULL);
        self_flush_begun(flush);
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

/* For session_next_silent() and the trace. */
static void flush_note_silent(Flush *flush, const FlushSlot *slot, Bytes *sources, size_t *n) {
        SourceInstance *instance;

        list_for_each (instance, &slot->producer->instances, producer_link) {
                if (instance->session != flush->session ||
                    !instance_wants_flush(instance, flush->group))
                        continue;
                instance->missed_flush = flush->id;
                instance->owed_flush = slot->request;
                if ((*n)++ < EVENT_NAMES_MAX)
                        event_sources_add(sources,
                                          instance->producer_name,
                                          instance->source->pb->config->name);
        }
}

/* Names who has not answered. */
static void flush_tell_silent(Flush *flush, uint64_t now) {
        Bytes sources = {};
        size_t n = 0;

        for (size_t i = 0; i < flush->n_slots; i++)
                if (flush->slots[i].producer)
                        flush_note_silent(flush, &flush->slots[i], &sources, &n);
        event_list_forget(&flush->session->events, EVENT_SLOW_FLUSHING_SOURCES);
        event_list_add(&flush->session->events, EVENT_SLOW_FLUSHING_SOURCES, now, &sources);
        bytes_deinit(&sources);
}

static void flush_count(Flush *flush, uint64_t now) {
        Session *session = flush->session;

        if (flush->n_pending + flush->n_silent > 0) {
                session->flushes_failed++;
                flush_tell_silent(flush, now);
                return;
        }
        session->flushes_succeeded++;
        event_list_forget(&session->events, EVENT_SLOW_FLUSHING_SOURCES);
        event_list_add(&session->events, EVENT_ALL_SOURCES_FLUSHED, now, NULL);
}

/* The reply comes last: the asker may ask again from within it. */
void flush_finish(Flush *flush, int outcome) {
        Session *session = flush->session;
        SessionFlushDone done = flush->done;
        void *userdata = flush->userdata;
        uint64_t id = flush->id;

        if (outcome == 0)
                flush_count(flush, session->service->now);
        else
                session->flushes_failed++;
        self_flush_ended(flush);
        flush_free(flush);
        if (!done)
                return;
        session->answering_flush = id;
        done(userdata, outcome);
        session->answering_flush = 0;
}

bool flush_is_due(const Flush *flush, uint64_t now) {
        return flush->n_pending == 0 || now >= flush->deadline;
}

/* What producers have answered for is in shared memory; of the silent ones what they had finished is. */
void flush_complete(Flush *flush) {
        session_drain(flush->session);
        flush_finish(flush, 0);
}
