/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What producers say: what they offer, and answers. */

#include <errno.h>

#include "core/life/settle.h"
#include "core/model/flush.h"
#include "core/model/policy.h"
#include "core/model/service.h"
#include "core/model/session-notes.h"
#include "core/model/session.h"
#include "core/producer.h"
#include "core/requests/service-activate.h"
#include "core/requests/session-match.h"
#include "core/requests/session-wait.h"
#include "core/requests/source-instance.h"

/* New options for a source that it already has: running instances continue. */
static void producer_update_source(Producer *producer, size_t at, ProducerSource *source) {
        ProducerSource *old = producer->sources[at];
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->offered == old)
                        instance->offered = source;
        producer->sources[at] = source;
        source_free(old);
}

/* To every session, also to those that do not know yet that they miss it. */
static void producer_offer(Producer *producer, ProducerSource *source) {
        Session *session;

        list_for_each (session, &producer->service->sessions, link) {
                session_match_source(session, producer, source);
                session_mark(session);
        }
}

int producer_add_source(Producer *producer,
                        const char *name,
                        const SourceOptions *options,
                        uint64_t now) {
        Service *service = producer->service;
        _cleanup_(source_freep) ProducerSource *source = NULL;
        ssize_t at;
        int r;

        service_note_now(service, now);
        if (!name_is_valid(name, SOURCE_NAME_MAX))
                return PRODUCER_E_INVALID;
        if (streq(name, SERVICE_SELF_SOURCE) ||
            !policy_may_register(&service->info, &producer->identity, name))
                return PRODUCER_E_RESERVED;
        at = producer_find_source(producer, name);
        if (at < 0 && producer->n_sources >= PRODUCER_SOURCES_MAX)
                return PRODUCER_E_LIMIT;

        r = source_new(&source, producer, name, options);
        if (r)
                return r;
        if (at >= 0) {
                producer_update_source(producer, (size_t)at, TAKE(source));
                return 0;
        }
        r = producer_append_source(producer, source);
        if (r < 0)
                return r;
        producer_offer(producer, TAKE(source));
        service_activated(service);
        service_settle(service);
        return 0;
}

int producer_remove_source(Producer *producer, const char *name, uint64_t now) {
        ssize_t at = producer_find_source(producer, name);
        ProducerSource *source;
        Session *session;

        if (at < 0)
                return PRODUCER_E_UNKNOWN;
        service_note_now(producer->service, now);
        source = producer->sources[at];
        producer->sources[at] = producer->sources[--producer->n_sources];
        producer->census->n[CENSUS_SOURCES]--;

        producer_take_all(producer);
        if (!producer->options.is_native)
                producer_stop_instances(producer, source);
        producer_end_instances(producer, source);
        source_free(source);
        list_for_each (session, &producer->service->sessions, link)
                session_mark(session);
        service_settle(producer->service);
        return 0;
}

int producer_instance_config(const Producer *producer, uint64_t instance, Bytes *ret) {
        const SourceInstance *found = producer_find_instance(producer, instance);

        return found ? instance_encode_config(found, ret) : -ENOENT;
}

/* It runs, so all of its instances may be waited for. */
static void producer_is_awake(Producer *producer) {
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                instance_set_suspended(instance, false);
}

/* The others of this session get another grace period. */
static void producer_answered(Session *session, Producer *producer, uint64_t now) {
        producer_is_awake(producer);
        session_give_grace(session, now);
        session_mark(session);
        service_settle(producer->service);
}

/* An answer that comes too late, or that was never asked for, changes nothing. */
void producer_source_started(Producer *producer, uint64_t instance, uint64_t now) {
        SourceInstance *found = producer_find_instance(producer, instance);

        now = service_note_now(producer->service, now);
        if (!found || found->state != INSTANCE_STARTING)
                return;
        instance_started(found);
        producer_answered(found->session, producer, now);
}

void producer_source_failed(Producer *producer, uint64_t instance, const char *why, uint64_t now) {
        SourceInstance *found = producer_find_instance(producer, instance);

        now = service_note_now(producer->service, now);
        if (!found)
                return;
        instance_stopped(found, why && why[0] ? why : N_("its producer gave no reason"));
        producer_answered(found->session, producer, now);
}

void producer_source_note(Producer *producer, uint64_t instance, const char *text, uint64_t now) {
        SourceInstance *found = producer_find_instance(producer, instance);

        now = service_note_now(producer->service, now);
        if (found)
                session_add_note(found, text, now);
}

/* What the instance wrote last is committed before its answer: taken while the buffer is still the producer's. */
void producer_source_stopped(Producer *producer, uint64_t instance, uint64_t now) {
        SourceInstance *found = producer_find_instance(producer, instance);

        now = service_note_now(producer->service, now);
        if (!found)
                return;
        producer_drain(producer);
        producer_scan(producer, found->session);
        instance_stopped(found, NULL);
        producer_answered(found->session, producer, now);
}

/* Also for flushes that have been given up. */
static void producer_pays(Producer *producer, uint64_t request) {
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->owed_flush <= request)
                        instance->owed_flush = 0;
}

static Flush *
session_find_flush(const Session *session, const Producer *producer, uint64_t request) {
        Flush *flush;

        list_for_each (flush, &session->flushes, link)
                if (flush_is_request(flush, producer, request))
                        return flush;
        return NULL;
}

void producer_flushed(Producer *producer, uint64_t request, uint64_t now) {
        Session *session;

        now = service_note_now(producer->service, now);
        producer_is_awake(producer); /* also if it is late */
        producer_pays(producer, request);
        list_for_each (session, &producer->service->sessions, link) {
                const Flush *answered = session_find_flush(session, producer, request);
                FlushGroup group;
                uint64_t id;
                Flush *flush;

                if (!answered)
                        continue;
                /* A producer that has flushed everything until now has done what older requests asked for. */
                group = answered->group;
                id = answered->id;
                list_for_each (flush, &session->flushes, link)
                        if (flush->id <= id && (group == FLUSH_GROUP_ALL || flush->group == group))
                                flush_producer_done(flush, producer);
                producer_answered(session, producer, now);
                return;
        }
}
