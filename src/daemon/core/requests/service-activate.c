/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Producers that are started so that they can be asked, with nothing to be recorded. What a session starts is the
 * session's to wait for (session-match.c); the two do not know of each other, as starting what runs does nothing.
 */

#include <stdio.h>

#include "core/model/producer.h"
#include "core/model/service-limits.h"
#include "core/model/service.h"
#include "core/requests/service-activate.h"
#include "shared/utf8.h"

static bool service_offers(const Service *service, const char *name) {
        const Producer *producer;

        list_for_each (producer, &service->producers, link)
                for (size_t i = 0; i < producer->n_sources; i++)
                        if (streq(producer->sources[i]->name, name))
                                return true;
        return false;
}

static bool service_offers_all(const Service *service, char *const *names) {
        for (; *names; names++)
                if (!service_offers(service, *names))
                        return false;
        return true;
}

static void activatable_forget(Activatable *activatable) {
        free(activatable->why);
        activatable->why = NULL;
        activatable->awaited_until = activatable->retry_at = 0;
}

static void activatable_fail(Activatable *activatable, const char *why, uint64_t now) {
        activatable_forget(activatable);
        activatable->why = utf8_copy_line(why, SOURCE_UNAVAILABLE_MAX);
        activatable->retry_at = now + SERVICE_RETRY_NS;
}

void service_gather(Service *service, uint64_t now) {
        service->is_gathering = service_note_now(service, now) < service->settled_at;
}

void service_activate_all(Service *service, uint64_t now) {
        service_gather(service, now);
        now = service_note_now(service, now);
        for (size_t i = 0; i < service->n_activatables; i++) {
                Activatable *activatable = &service->activatables[i];

                if (activatable->awaited_until || now < activatable->retry_at ||
                    service_offers_all(service, activatable->sources))
                        continue;
                activatable->awaited_until = now + SERVICE_COMING_NS;
                service->ops->activate(service->userdata, i);
        }
}

bool service_awaits_producers(const Service *service) {
        if (service->is_gathering)
                return true;
        for (size_t i = 0; i < service->n_activatables; i++)
                if (service->activatables[i].awaited_until)
                        return true;
        return false;
}

const char *service_activation_error(Service *service, const char *source) {
        ssize_t i = service_find_activatable(service, source);

        return i < 0 ? NULL : service->activatables[i].why;
}

void service_activated(Service *service) {
        for (size_t i = 0; i < service->n_activatables; i++) {
                Activatable *activatable = &service->activatables[i];

                if ((activatable->awaited_until || activatable->why) &&
                    service_offers_all(service, activatable->sources))
                        activatable_forget(activatable);
        }
}

void service_activation_ends(Service *service, size_t index, const char *why, uint64_t now) {
        if (service->activatables[index].awaited_until)
                activatable_fail(&service->activatables[index], why, now);
}

uint64_t service_activations_deadline(const Service *service) {
        uint64_t next = service->is_gathering ? service->settled_at : UINT64_MAX;

        for (size_t i = 0; i < service->n_activatables; i++)
                if (service->activatables[i].awaited_until)
                        next = MIN(next, service->activatables[i].awaited_until);
        return next;
}

void service_tick_activations(Service *service, uint64_t now) {
        if (now >= service->settled_at)
                service->is_gathering = false;
        for (size_t i = 0; i < service->n_activatables; i++) {
                Activatable *activatable = &service->activatables[i];
                char why[128];

                if (!activatable->awaited_until || now < activatable->awaited_until)
                        continue;
                snprintf(why,
                         sizeof(why),
                         N_("%.64s was started but did not offer it within %d s; see its log"),
                         activatable->name,
                         (int)(SERVICE_COMING_NS / 1000000000));
                activatable_fail(activatable, why, now);
        }
}
