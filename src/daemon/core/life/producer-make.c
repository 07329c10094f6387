/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A producer comes and goes. What it registers is charged to its user. */

#include <assert.h>
#include <errno.h>

#include "core/ingest/producer-take.h"
#include "core/life/producer-make.h"
#include "core/model/policy.h"
#include "core/model/service.h"
#include "core/model/session.h"
#include "core/requests/source-instance.h"
#include "shared/error.h"
#include "shared/utf8.h"
#include "wire/wire-reader.h"

int producer_new(Producer **ret,
                 Service *service,
                 const Identity *identity,
                 const char *name,
                 const ProducerOptions *options,
                 const ProducerOps *ops,
                 void *peer) {
        _cleanup_(producer_freep) Producer *producer = NULL;
        int r;

        if (!name_is_valid(name, PRODUCER_NAME_MAX))
                return PRODUCER_E_INVALID;
        if (service->is_locked_down && !policy_passes_lockdown(&service->info, identity))
                return PRODUCER_E_LOCKDOWN;

        producer = calloc(1, sizeof(*producer));
        if (!producer)
                return -ENOMEM;
        producer->service = service;
        producer->identity = *identity;
        producer->user = service_user_of(service, identity);
        producer->options = *options;
        producer->ops = ops;
        producer->peer = peer;
        list_init(&producer->link);
        list_init(&producer->instances);
        list_init(&producer->awake_link);
        list_init(&producer->unused_link);

        producer->name = strdup(name);
        producer->options.version = NULL; /* the caller's */
        if (options->version)
                producer->version = utf8_copy_line(options->version, PRODUCER_VERSION_MAX);
        if (!producer->name || (options->version && !producer->version))
                return -ENOMEM;
        r = quota_charge(&service->quota, &producer->charge, producer->user, QUOTA_PRODUCERS, 1);
        if (r)
                return r == QUOTA_E_EXCEEDED ? PRODUCER_E_LIMIT : error_fold(r);
        r = census_join(&producer->census, &service->census, identity->uid);
        if (r < 0)
                return r;

        producer->id = producer->origin_id = service_new_producer_id(service, identity->uid);
        producer->order = ++service->n_producers_ever;
        list_append(&service->producers, &producer->link);
        service->n_producers++;
        producer->census->n[CENSUS_PRODUCERS]++;
        producer->census->n[CENSUS_PRODUCERS_SEEN]++;
        *ret = TAKE(producer);
        return 0;
}

/* Takes the source over on success only. */
int producer_append_source(Producer *producer, ProducerSource *source) {
        ProducerSource **grown;

        grown = reallocarray(producer->sources, producer->n_sources + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        producer->sources = grown;
        producer->sources[producer->n_sources++] = source;
        producer->census->n[CENSUS_SOURCES]++;
        producer->census->n[CENSUS_SOURCES_SEEN]++;
        return 0;
}

int producer_new_builtin(Producer **ret,
                         Service *service,
                         const char *source,
                         const ProducerOps *ops,
                         void *peer) {
        _cleanup_(producer_freep) Producer *producer = NULL;
        _cleanup_(source_freep) ProducerSource *offered = NULL;
        int r;

        producer = calloc(1, sizeof(*producer));
        if (!producer)
                return -ENOMEM;
        producer->service = service;
        producer->identity = (Identity){ .uid = service->info.uid, .pid = service->info.pid };
        producer->user = service->info.uid;
        producer->options.is_native = true;
        producer->ops = ops;
        producer->peer = peer;
        producer->is_builtin = true;
        producer->has_memory = true; /* all it needs: there is no area to look at */
        list_init(&producer->link);
        list_init(&producer->instances);
        list_init(&producer->awake_link);
        list_init(&producer->unused_link);
        producer->name = strdup("desktraced");
        if (!producer->name)
                return -ENOMEM;
        r = census_join(&producer->census, &service->census, service->info.uid);
        if (r < 0)
                return r;
        r = source_new(&offered, producer, source, &(SourceOptions){ .no_flush = true });
        if (r == 0) {
                offered->tells_start = offered->tells_stop =
                        false; /* it does so at once when it is asked */
                r = producer_append_source(producer, offered);
        }
        if (r)
                return r;
        TAKE(offered);
        producer->id = producer->origin_id = service_new_producer_id(service, service->info.uid);
        *ret = TAKE(producer);
        return 0;
}

void producer_take_all(Producer *producer) {
        producer_drain(producer);
        producer_scan(producer, NULL);
}

/* Ends the producer's instances, of one source or (NULL) all. The time is not known here, so the sessions move on with
 * the next tick, which is due at once. */
void producer_end_instances(Producer *producer, const ProducerSource *source) {
        SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link) {
                if (source && instance->offered != source)
                        continue;
                session_mark(instance->session);
                instance->is_cut_short = session_is_running(instance->session);
                instance_stopped(instance, NULL);
        }
}

/* Perfetto's producers have withdrawn their sources, and wait for the request to stop. */
void producer_stop_instances(Producer *producer, const ProducerSource *source) {
        const SourceInstance *instance;

        list_for_each (instance, &producer->instances, producer_link)
                if (instance->offered == source && instance->state < INSTANCE_STOPPING)
                        producer->ops->stop_source(producer->peer, instance->id);
}

Producer *producer_free(Producer *producer) {
        if (!producer)
                return NULL;

        /* Before its instances go, while it may still write to their buffers: so a crash loses only the packet at
         * hand. */
        producer_take_all(producer);
        producer_end_instances(producer, NULL);
        assert(list_is_empty(&producer->instances));
        if (list_is_linked(&producer->link)) {
                service_producer_gone(producer->service, producer->origin_id);
                list_unlink(&producer->link);
                producer->service->n_producers--;
                producer->census->n[CENSUS_PRODUCERS]--;
        }
        list_unlink(&producer->awake_link);
        list_unlink(&producer->unused_link);
        for (size_t i = 0; i < producer->n_sources; i++)
                source_free(producer->sources[i]);
        free(producer->sources);
        if (producer->census)
                producer->census->n[CENSUS_SOURCES] -= producer->n_sources;
        census_leave(producer->census);

        charge_deinit(&producer->memory_charge);
        charge_deinit(&producer->charge);
        free(producer->writer_buffers);
        free(producer->version);
        free(producer->name);
        free(producer);
        return NULL;
}
