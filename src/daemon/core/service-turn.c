/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The service's own turns: it comes, looks after everybody, and goes. Waits are polled: the next deadline is the
 * least of all sessions' (there are at most SERVICE_SESSIONS_MAX) and of the common drain of awake producers, so that
 * thousands of sleeping producers cost nothing.
 */

#include <assert.h>
#include <errno.h>

#include "core/events/self-trace.h"
#include "core/ingest/producer-awake.h"
#include "core/ingest/producer-memory.h"
#include "core/life/producer-make.h"
#include "core/life/self-producer.h"
#include "core/life/session-timers.h"
#include "core/life/settle.h"
#include "core/model/recent.h"
#include "core/model/session.h"
#include "core/requests/session-match.h"
#include "core/service.h"

int service_new(Service **ret,
                const ServiceInfo *info,
                const ServiceOps *ops,
                void *userdata,
                uint64_t now) {
        _cleanup_(service_freep) Service *service = NULL;

        service = calloc(1, sizeof(*service));
        if (!service)
                return -ENOMEM;
        service->info = *info;
        service->ops = ops;
        service->userdata = userdata;
        service->now = now;
        service->settled_at = now + SERVICE_SETTLE_NS;
        service->next_drain = UINT64_MAX;
        service_init_numbers(service);
        list_init(&service->census);
        quota_init(&service->quota, info->ram_bytes);
        list_init(&service->recent);
        trigger_history_init(&service->trigger_history);
        list_init(&service->sessions);
        list_init(&service->marked);
        list_init(&service->producers);
        list_init(&service->awake);
        list_init(&service->unused);

        /* Half a megabyte of address space; only pages with buffers in them become memory. */
        service->buffers = calloc(SERVICE_BUFFER_IDS, sizeof(*service->buffers));
        if (!service->buffers)
                return -ENOMEM;

        *ret = TAKE(service);
        return 0;
}

void service_leave(Service *service) {
        Producer *producer;

        list_for_each (producer, &service->producers, link)
                producer_take_all(producer);
        service->is_left = true;
}

Service *service_free(Service *service) {
        Recent *recent;

        if (!service)
                return NULL;
        assert(list_is_empty(&service->sessions));
        assert(list_is_empty(&service->producers));
        assert(list_is_empty(&service->marked));
        assert(list_is_empty(&service->awake) && list_is_empty(&service->unused));
        assert(service->n_sessions == 0 && service->n_producers == 0 && service->n_buffers == 0);

        list_for_each (recent, &service->recent, link)
                recent_free(recent);
        self_trace_free(service->self);
        free(service->former_producers);
        service_free_descriptors(service);
        for (size_t i = 0; i < service->n_activatables; i++) {
                free(service->activatables[i].name);
                strings_free(service->activatables[i].sources);
                free(service->activatables[i].why);
        }
        trigger_history_deinit(&service->trigger_history);
        quota_deinit(&service->quota);
        assert(list_is_empty(&service->census));
        free(service->activatables);
        free(service->buffers);
        free(service);
        return NULL;
}

void service_activation_failed(Service *service, size_t index, const char *why, uint64_t now) {
        Session *session;

        now = service_note_now(service, now);
        service_activation_ends(service, index, why, now);
        list_for_each (session, &service->sessions, link) {
                session_give_up_on(session, (ssize_t)index, why);
                session_mark(session);
        }
        service_settle(service);
}

uint64_t service_next_deadline(Service *service) {
        uint64_t next = list_is_empty(&service->awake) ? UINT64_MAX : service->next_drain;
        const Session *session;

        if (!list_is_empty(&service->unused))
                next = MIN(next,
                           list_entry(service->unused.next, Producer, unused_link)->release_at);
        next = MIN(next, service_activations_deadline(service));
        list_for_each (session, &service->sessions, link)
                next = MIN(next, session_next_deadline(session));
        return next;
}

/* One timer for all of them: producers that are awake at the same time cost one wake-up. When they have more than is
 * taken in one look, the next one is due at once and begins with the first that was not looked at. */
static void service_look_at_awake(Service *service, uint64_t now) {
        uint64_t room = SERVICE_LOOK_BYTES;
        Producer *producer;

        if (list_is_empty(&service->awake) || now < service->next_drain)
                return;
        service->next_drain = now + PRODUCER_DRAIN_INTERVAL_NS;
        list_for_each (producer, &service->awake, awake_link) {
                if (room == 0) {
                        list_unlink(&service->awake);
                        list_insert_before(&producer->awake_link, &service->awake);
                        break;
                }
                room -= MIN(room, producer_look(producer, room));
        }
        if (room == 0)
                service->next_drain = now;
}

static void service_release_unused(Service *service, uint64_t now) {
        Producer *producer;

        list_for_each (producer, &service->unused, unused_link) {
                if (producer->release_at > now)
                        return;
                producer_release_memory(producer);
        }
}

void service_tick(Service *service, uint64_t now) {
        Session *session;

        now = service_note_now(service, now);
        if (self_is_traced(service))
                self_ticked(service, service_next_deadline(service));
        service_look_at_awake(service, now);
        service_release_unused(service, now);
        service_tick_activations(service, now);
        list_for_each (session, &service->sessions, link)
                session_tick(session, now);
        service_settle(service);
}
