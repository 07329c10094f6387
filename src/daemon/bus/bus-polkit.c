/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "bus/bus-error.h"
#include "bus/bus-polkit.h"
#include "bus/guard.h"
#include "shared/log-user.h"

#define POLKIT_NAME      "org.freedesktop.PolicyKit1"
#define POLKIT_PATH      "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_INTERFACE "org.freedesktop.PolicyKit1.Authority"

#define POLKIT_ALLOW_INTERACTION 1u
#define POLKIT_ID_MAX            32

struct PolkitQuery {
        Bus *bus;
        uid_t user;
        bool is_interactive; /* the caller's message allows to ask the user */
        char id[POLKIT_ID_MAX]; /* polkit's cancellation id: ours to choose, unique on our connection */
        sd_bus_slot *slot;
        GuardQuery *guards; /* instead of polkit; NULL: they are not asked, or have answered */
        PolkitDone done;
        void *userdata;
        List link; /* bus->queries */
};

static size_t bus_count_queries(Bus *bus, uid_t user) {
        PolkitQuery *query;
        size_t n = 0;

        list_for_each (query, &bus->queries, link) {
                if (query->user == user)
                        n++;
        }
        return n;
}

static int
polkit_query_new(PolkitQuery **ret, Bus *bus, uid_t user, PolkitDone done, void *userdata) {
        static uint64_t last_id;
        PolkitQuery *query;

        query = calloc(1, sizeof(*query));
        if (!query)
                return -ENOMEM;
        query->bus = bus;
        query->user = user;
        query->done = done;
        query->userdata = userdata;
        snprintf(query->id, sizeof(query->id), "%" PRIu64, ++last_id);
        list_append(&bus->queries, &query->link);
        *ret = query;
        return 0;
}

static void polkit_cancel(PolkitQuery *query) {
        int r;

        r = sd_bus_call_method_async(query->bus->message_bus,
                                     NULL,
                                     POLKIT_NAME,
                                     POLKIT_PATH,
                                     POLKIT_INTERFACE,
                                     "CancelCheckAuthorization",
                                     NULL,
                                     NULL,
                                     "s",
                                     query->id);
        if (r < 0)
                log_debug("cannot cancel a polkit check: %s", strerror(-r));
}

PolkitQuery *polkit_query_free(PolkitQuery *query) {
        if (!query)
                return NULL;
        if (query->slot)
                polkit_cancel(query);
        sd_bus_slot_unref(query->slot);
        guard_query_free(query->guards);
        list_unlink(&query->link);
        free(query);
        return NULL;
}

/* A challenge although the user could have been asked means that there was nobody to ask: the user
 * has no authentication agent. To call again would not help. */
static PolkitAnswer polkit_read_answer(const PolkitQuery *query, sd_bus_message *reply) {
        int is_authorized, is_challenge, r;

        if (sd_bus_message_is_method_error(reply, NULL)) {
                const sd_bus_error *error = sd_bus_message_get_error(reply);

                log_user(query->user, LOG_WARNING, "polkit cannot be asked: %s", error->message);
                return POLKIT_UNAVAILABLE;
        }
        r = sd_bus_message_enter_container(reply, 'r', "bba{ss}");
        if (r >= 0)
                r = sd_bus_message_read(reply, "bb", &is_authorized, &is_challenge);
        if (r < 0)
                return POLKIT_UNAVAILABLE;
        if (is_authorized)
                return POLKIT_GRANTED;
        return is_challenge && !query->is_interactive ? POLKIT_NEEDS_INTERACTION : POLKIT_DENIED;
}

static int on_polkit_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        PolkitQuery *query = userdata;
        PolkitAnswer answer = polkit_read_answer(query, reply);
        PolkitDone done = query->done;
        void *done_userdata = query->userdata;

        query->slot = sd_bus_slot_unref(query->slot); /* answered: nothing to cancel */
        polkit_query_free(query);
        done(done_userdata, answer);
        return 0;
}

static int
polkit_append_details(sd_bus_message *call, const PolkitDetail *details, size_t n_details) {
        int r;

        r = sd_bus_message_open_container(call, 'a', "{ss}");
        if (r < 0)
                return r;
        for (size_t i = 0; i < n_details; i++) {
                r = sd_bus_message_append(call, "{ss}", details[i].key, details[i].value);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(call);
}

static int polkit_append_subject(sd_bus_message *call, const PolkitSubject *subject) {
        if (subject->name)
                return sd_bus_message_append(
                        call, "(sa{sv})", "system-bus-name", 1, "name", "s", subject->name);
        return sd_bus_message_append(call,
                                     "(sa{sv})",
                                     "unix-process",
                                     3,
                                     "pid",
                                     "u",
                                     (uint32_t)subject->pid,
                                     "start-time",
                                     "t",
                                     subject->start_time,
                                     "uid",
                                     "i",
                                     (int32_t)subject->uid);
}

static int polkit_send(PolkitQuery *query, const PolkitQuestion *question) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        sd_bus *bus = query->bus->message_bus;
        int r;

        r = sd_bus_message_new_method_call(
                bus, &call, POLKIT_NAME, POLKIT_PATH, POLKIT_INTERFACE, "CheckAuthorization");
        if (r < 0)
                return r;
        r = polkit_append_subject(call, &question->subject);
        if (r >= 0)
                r = sd_bus_message_append(call, "s", question->action);
        if (r < 0)
                return r;
        r = polkit_append_details(call, question->details, question->n_details);
        if (r < 0)
                return r;
        r = sd_bus_message_append(
                call, "us", question->is_interactive ? POLKIT_ALLOW_INTERACTION : 0, query->id);
        if (r < 0)
                return r;
        return sd_bus_call_async(
                bus, &query->slot, call, on_polkit_answer, query, POLKIT_TIMEOUT_USEC);
}

PolkitSubject polkit_subject_of(const Client *client) {
        return (PolkitSubject){
                .uid = client->identity.uid,
                .user = client->user,
                .name = client->name,
        };
}

static bool can_ask(const Bus *bus, const PolkitSubject *subject) {
        return bus->is_shared && (subject->name || subject->pid > 0);
}

int polkit_ask(PolkitQuery **ret, Bus *bus, const PolkitQuestion *question) {
        _cleanup_(polkit_query_freep) PolkitQuery *query = NULL;
        const uid_t user = question->subject.user;
        int r;

        if (!can_ask(bus, &question->subject))
                return POLKIT_E_UNAVAILABLE;
        if (bus_count_queries(bus, user) >= POLKIT_PENDING_PER_USER_MAX)
                return POLKIT_E_LIMIT;
        r = polkit_query_new(&query, bus, user, question->done, question->userdata);
        if (r < 0)
                return r;
        query->is_interactive = question->is_interactive;
        r = polkit_send(query, question);
        if (r < 0)
                return r;
        *ret = TAKE(query);
        return 0;
}

static void on_guards_answer(void *userdata, GuardAnswer answer) {
        static const PolkitAnswer answers[] = {
                [GUARD_GRANTED] = POLKIT_GRANTED,
                [GUARD_DENIED] = POLKIT_DENIED,
                [GUARD_NEEDS_INTERACTION] = POLKIT_NEEDS_INTERACTION,
                [GUARD_UNAVAILABLE] = POLKIT_UNAVAILABLE,
                [GUARD_ROOT_IS_SILENT] = POLKIT_ROOT_IS_SILENT,
        };
        PolkitQuery *query = userdata;
        PolkitDone done = query->done;
        void *done_userdata = query->userdata;

        query->guards = NULL;
        polkit_query_free(query);
        done(done_userdata, answers[answer]);
}

int polkit_ask_guards(PolkitQuery **ret,
                      Bus *bus,
                      const PolkitQuestion *question,
                      const Config *config) {
        _cleanup_(polkit_query_freep) PolkitQuery *query = NULL;
        const PolkitSubject *subject = &question->subject;
        int r;

        if (bus_count_queries(bus, subject->user) >= POLKIT_PENDING_PER_USER_MAX)
                return POLKIT_E_LIMIT;
        r = polkit_query_new(&query, bus, subject->user, question->done, question->userdata);
        if (r >= 0)
                r = guard_ask(&query->guards,
                              &(const GuardQueryOptions){
                                      .event = bus->event,
                                      .guards = bus->guards,
                                      .n_guards = bus->n_guards,
                                      .name = subject->name,
                                      .pid = subject->pid,
                                      .start_time = subject->start_time,
                                      .config = config,
                                      .is_interactive = question->is_interactive,
                                      .done = on_guards_answer,
                                      .userdata = query,
                              });
        if (r < 0)
                return r;
        *ret = TAKE(query);
        return 0;
}

int polkit_refuse(sd_bus_error *error) {
        return bus_error_set(error,
                             BUS_ERROR_LIMIT_EXCEEDED,
                             "%d polkit questions to this user are pending; answer them first",
                             POLKIT_PENDING_PER_USER_MAX);
}
