/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A producer begins again with what another process has left of it. */

#include <errno.h>

#include "core/ingest/producer-loss.h"
#include "core/life/producer-make.h"
#include "core/life/settle.h"
#include "core/model/flush.h"
#include "core/model/service-limits.h"
#include "core/model/service.h"
#include "core/model/session.h"
#include "core/producer-restore.h"
#include "core/producer.h"
#include "core/requests/flush.h"
#include "core/requests/source-instance.h"
#include "shared/error.h"

static int
producer_find_memory(Producer *producer, const ProducerPast *past, void *memory, size_t n_memory) {
        const uint32_t page_bytes = (uint32_t)past->page_bytes;
        int r;

        if (past->pages_bytes > SMB_PAGES_BYTES_MAX || past->page_bytes > SMB_PAGE_BYTES_MAX ||
            !smb_sizes_valid((size_t)past->pages_bytes, page_bytes) ||
            n_memory != smb_native_bytes((size_t)past->pages_bytes, page_bytes) ||
            past->n_memories == 0 || past->n_memories > UINT_MAX)
                return -EBADMSG;
        r = quota_charge(&producer->service->quota,
                         &producer->memory_charge,
                         producer->user,
                         QUOTA_MEMORY_BYTES,
                         n_memory);
        if (r)
                return r == QUOTA_E_EXCEEDED ? PRODUCER_E_LIMIT : error_fold(r);
        smb_area_find(&producer->area, memory, (size_t)past->pages_bytes, page_bytes);
        producer->has_memory = true;
        producer->n_memories = (unsigned)past->n_memories;
        return 0;
}

/* It may have lost as many meanwhile as in any other time. */
static void producer_find_losses(Producer *producer, const ProducerPast *past) {
        producer_begin_losses(producer);
        producer->losses.n = past->n_lost;
        producer->losses.n_said = past->n_said;
        producer->losses.looked_at = MIN(past->looked_at, producer->service->now);
}

static int producer_find_source_again(Producer *producer, ProducerSource **ret, const char *name) {
        _cleanup_(source_freep) ProducerSource *source = NULL;
        const ssize_t at = producer_find_source(producer, name);
        int r;

        if (at >= 0) {
                *ret = producer->sources[at];
                return 0;
        }
        if (producer->n_sources >= PRODUCER_SOURCES_MAX)
                return PRODUCER_E_LIMIT;
        r = source_new(&source, producer, name, &(SourceOptions){});
        if (r == 0)
                source->is_restored = true;
        if (r == 0)
                r = producer_append_source(producer, source);
        if (r == 0)
                *ret = TAKE(source);
        return r;
}

/* Whose session is gone, or stopped, ends; and who had never been told of it is asked as any other. */
static int producer_find_instance_again(Producer *producer, const InstancePast *past) {
        Session *session = service_find_session(producer->service, past->session);
        SessionSource *source;
        ProducerSource *offered;
        int r;

        if (!session || !session_is_open(session) || past->source >= session->n_sources ||
            past->id == 0 || past->state > INSTANCE_STOPPING ||
            producer_find_instance(producer, past->id))
                return 0;
        source = &session->sources[past->source];
        if (source->buffer->id != past->buffer)
                return 0;
        r = producer_find_source_again(producer, &offered, source->pb->config->name);
        if (r)
                return r;
        r = instance_restore(session,
                             source,
                             producer,
                             offered,
                             past->id,
                             (InstanceState)past->state,
                             past->dropped_before);
        session_mark(session);
        return r;
}

static int producer_find_all_again(Producer *producer,
                                   const ProducerPast *past,
                                   void *memory,
                                   size_t n_memory) {
        int r;

        r = producer_find_memory(producer, past, memory, n_memory);
        producer->id = past->id;
        producer->origin_id = past->origin_id;
        producer->last_instance_id = past->last_instance_id;
        producer_find_losses(producer, past);
        for (size_t i = 0; r == 0 && i < past->n_instances; i++)
                r = producer_find_instance_again(producer, &past->instances[i]);
        if (r == 0 && list_is_empty(&producer->instances))
                return -EBADMSG;
        return r;
}

int producer_restore(Producer **ret,
                     Service *service,
                     const ProducerPast *past,
                     void *memory,
                     size_t n_memory,
                     const ProducerOps *ops,
                     void *peer,
                     uint64_t now) {
        const ProducerOptions options = {
                .is_native = true,
                .memory_bytes = (size_t)past->pages_bytes,
                .page_bytes = (uint32_t)past->page_bytes,
        };
        _cleanup_(producer_freep) Producer *producer = NULL;
        int r;

        service_note_now(service, now);
        r = producer_new(&producer, service, &past->identity, past->name, &options, ops, peer);
        if (r)
                return r;
        r = producer_find_all_again(producer, past, memory, n_memory);
        if (r)
                return r;
        /* All of it now: it may never come back. */
        producer_take_all(producer);
        service_settle(service);
        *ret = TAKE(producer);
        return 0;
}

int service_expect_producer(Service *service, const ProducerPast *past) {
        int r;

        r = service_reserve_producer_id(service, past->id);
        return r < 0 ? r : service_reserve_producer_id(service, past->origin_id);
}

void service_give_up_on_producer(Service *service, const ProducerPast *past) {
        service_producer_gone(service, past->origin_id);
}

static bool is_among(uint64_t id, const uint64_t *ids, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (ids[i] == id)
                        return true;
        return false;
}

/* Those of sources that it has withdrawn meanwhile. */
static void
producer_end_missing(Producer *producer, const uint64_t *instances, size_t n_instances) {
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link) {
                if (!instance->is_restored || is_among(instance->id, instances, n_instances))
                        continue;
                session_mark(instance->session);
                instance_stopped(instance, NULL);
        }
}

static void producer_ask_flushes_again(Producer *producer) {
        Session *session;
        Flush *flush;

        list_for_each (session, &producer->service->sessions, link)
                list_for_each (flush, &session->flushes, link)
                        flush_ask_again(flush, producer);
}

void producer_return(Producer *producer,
                     const uint64_t *instances,
                     size_t n_instances,
                     uint64_t now) {
        SourceInstance *instance;

        now = service_note_now(producer->service, now);
        producer_take_all(producer);
        producer_end_missing(producer, instances, MIN(n_instances, (size_t)PRODUCER_RETURNED_MAX));
        list_for_each (instance, &producer->instances, producer_link)
                instance_ask_again(instance);
        producer_ask_flushes_again(producer);
        producer_ask_clears(producer, now);
        producer_doorbell(producer, now);
        service_settle(producer->service);
}

void producer_list_instances(const Producer *producer,
                             void (*found)(void *userdata, uint64_t instance),
                             void *userdata) {
        const SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->is_restored)
                        found(userdata, instance->id);
}
