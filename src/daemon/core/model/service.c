/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lists, numbers and ids of the service. Nothing here makes a request. */

#include <assert.h>
#include <errno.h>

#include "core/model/service.h"
#include "core/model/session-buffer.h"
#include "core/model/session.h"

uint64_t service_note_now(Service *service, uint64_t now) {
        service->now = MAX(service->now, now);
        return service->now;
}

/* The service's own user has the numbers below those of the others. */
#define SESSION_NUMBER_BITS  20
#define PRODUCER_NUMBER_BITS 24
#define BUFFER_NUMBER_BITS   16

void service_init_numbers(Service *service) {
        uint64_t keys[6];

        service->ops->random(service->userdata, keys, sizeof(keys));
        numbers_init(&service->session_numbers, SESSION_NUMBER_BITS, keys);
        numbers_init(&service->producer_numbers, PRODUCER_NUMBER_BITS, keys + 2);
        numbers_init(&service->buffer_numbers, BUFFER_NUMBER_BITS, keys + 4);
}

/* There are far fewer sessions than numbers, but a number may come again while a session still has it. */
uint64_t service_new_session_id(Service *service, uid_t uid) {
        uint64_t id;

        do
                id = uid == service->info.uid ? ++service->last_own_session
                                              : (UINT64_C(1) << SESSION_NUMBER_BITS) +
                                                        numbers_next(&service->session_numbers);
        while (service_find_session(service, id));
        return id;
}

static bool producer_id_is_former(const Service *service, uint64_t id) {
        for (size_t i = 0; i < service->n_former_producers; i++)
                if (service->former_producers[i] == id)
                        return true;
        return false;
}

uint64_t service_new_producer_id(Service *service, uid_t uid) {
        uint64_t id;

        do
                id = uid == service->info.uid ? ++service->last_own_producer
                                              : (UINT64_C(1) << PRODUCER_NUMBER_BITS) +
                                                        numbers_next(&service->producer_numbers);
        while (producer_id_is_former(service, id));
        return id;
}

int service_reserve_producer_id(Service *service, uint64_t id) {
        uint64_t *grown = reallocarray(
                service->former_producers, service->n_former_producers + 1, sizeof(*grown));

        if (!grown)
                return -ENOMEM;
        service->former_producers = grown;
        service->former_producers[service->n_former_producers++] = id;
        return 0;
}

uid_t service_user_of(const Service *service, const Identity *identity) {
        return service->ops->user_of ? service->ops->user_of(service->userdata, identity)
                                     : identity->uid;
}

int service_charge_connection(Service *service, Charge *charge, uid_t user) {
        return quota_charge(&service->quota, charge, user, QUOTA_CONNECTIONS, 1);
}

bool service_has_connection_room(const Service *service, uid_t user, size_t n) {
        return quota_has_room(&service->quota, user, QUOTA_CONNECTIONS, n);
}

int service_charge_messages(Service *service, Charge *charge, uid_t user) {
        return quota_charge(&service->quota, charge, user, QUOTA_MESSAGE_BYTES, 0);
}

int service_charge_calls(Service *service, Charge *charge, uid_t user) {
        return quota_charge(&service->quota, charge, user, QUOTA_CALL_BYTES, 0);
}

void strings_free(char **strings) {
        for (size_t i = 0; strings && strings[i]; i++)
                free(strings[i]);
        free(strings);
}

char **strings_copy(const char *const strings[]) {
        size_t n = 0;
        char **copy;

        while (strings[n])
                n++;
        copy = calloc(n + 1, sizeof(*copy));
        for (size_t i = 0; copy && i < n; i++) {
                copy[i] = strdup(strings[i]);
                if (!copy[i]) {
                        strings_free(copy);
                        return NULL;
                }
        }
        return copy;
}

int service_add_activatable(Service *service, const char *name, const char *const sources[]) {
        size_t n = service->n_activatables;
        Activatable *grown, added = {};

        grown = reallocarray(service->activatables, n + 1, sizeof(*grown));
        if (!grown)
                return -ENOMEM;
        service->activatables = grown;

        added.name = strdup(name);
        added.sources = strings_copy(sources);
        if (!added.name || !added.sources) {
                free(added.name);
                strings_free(added.sources);
                return -ENOMEM;
        }
        service->activatables[service->n_activatables++] = added;
        return 0;
}

const Activatable *service_activatables(Service *service, size_t *ret_n) {
        *ret_n = service->n_activatables;
        return service->activatables;
}

ssize_t service_find_activatable(Service *service, const char *source) {
        for (size_t i = 0; i < service->n_activatables; i++)
                for (char **at = service->activatables[i].sources; *at; at++)
                        if (streq(*at, source))
                                return (ssize_t)i;
        return -1;
}

bool service_can_activate(Service *service, const char *source) {
        return service_find_activatable(service, source) >= 0;
}

void service_producer_gone(Service *service, uint64_t producer_id) {
        const Session *session;

        list_for_each (session, &service->sessions, link)
                for (size_t i = 0; i < session->n_buffers; i++)
                        trace_buffer_producer_gone(session->buffers[i].buffer, producer_id);
}

uint16_t service_claim_buffer_id(Service *service, SessionBuffer *buffer) {
        uint16_t id;

        /* SERVICE_SESSIONS_MAX times SESSION_BUFFERS_MAX is far below the number of ids: one is free. */
        static_assert(SERVICE_SESSIONS_MAX * SESSION_BUFFERS_MAX < UINT16_MAX, "ids must suffice");
        do
                id = (uint16_t)numbers_next(&service->buffer_numbers);
        while (id == 0 || service->buffers[id]);

        service->buffers[id] = buffer;
        service->n_buffers++;
        buffer->session->census->n[CENSUS_BUFFERS]++;
        return id;
}

void service_release_buffer_id(Service *service, uint16_t id) {
        if (id == 0)
                return;
        service->buffers[id]->session->census->n[CENSUS_BUFFERS]--;
        service->buffers[id] = NULL;
        service->n_buffers--;
}

void service_reclaim_buffer_id(Service *service, SessionBuffer *buffer, uint16_t id) {
        if (id == 0 || service->buffers[id])
                return;
        service->buffers[buffer->id] = NULL;
        service->buffers[id] = buffer;
        buffer->id = id;
}

SessionBuffer *service_find_buffer(Service *service, uint16_t id) {
        return service->buffers[id];
}

bool service_is_locked_down(const Service *service) {
        return service->is_locked_down;
}

size_t service_n_sessions(Service *service) {
        return service->n_sessions;
}

size_t service_n_producers(Service *service) {
        return service->n_producers;
}

Session *service_find_session(Service *service, uint64_t id) {
        Session *session;

        list_for_each (session, &service->sessions, link)
                if (session->id == id)
                        return session;
        return NULL;
}

Session *service_next_session(Service *service, Session *after) {
        List *link = after ? after->link.next : service->sessions.next;

        return link == &service->sessions ? NULL : list_entry(link, Session, link);
}

Producer *service_next_producer(Service *service, Producer *after) {
        List *link = after ? after->link.next : service->producers.next;

        return link == &service->producers ? NULL : list_entry(link, Producer, link);
}
