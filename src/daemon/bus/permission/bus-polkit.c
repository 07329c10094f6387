/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Queries of a user: their number is limited, and each asks either polkit or the producers that guard a data source.
 */

#include <errno.h>

#include "bus/link/guard.h"
#include "bus/permission/bus-polkit.h"

struct PolkitQuery {
        Bus *bus;
        uid_t user;
        PolkitCheck *check; /* NULL: polkit is not asked, or has answered */
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
        PolkitQuery *query;

        query = calloc(1, sizeof(*query));
        if (!query)
                return -ENOMEM;
        query->bus = bus;
        query->user = user;
        query->done = done;
        query->userdata = userdata;
        list_append(&bus->queries, &query->link);
        *ret = query;
        return 0;
}

PolkitQuery *polkit_query_free(PolkitQuery *query) {
        if (!query)
                return NULL;
        polkit_check_free(query->check);
        guard_query_free(query->guards);
        list_unlink(&query->link);
        free(query);
        return NULL;
}

static void polkit_query_done(PolkitQuery *query, AccessAnswer answer) {
        const PolkitDone done = query->done;
        void *userdata = query->userdata;

        polkit_query_free(query);
        done(userdata, answer);
}

static void on_verdict(void *userdata, PolkitVerdict verdict) {
        static const AccessAnswer answers[] = {
                [POLKIT_VERDICT_GRANTED] = ACCESS_GRANTED,
                [POLKIT_VERDICT_DENIED] = ACCESS_DENIED,
                [POLKIT_VERDICT_NEEDS_INTERACTION] = ACCESS_NEEDS_INTERACTION,
                [POLKIT_VERDICT_UNAVAILABLE] = ACCESS_UNAVAILABLE,
        };
        PolkitQuery *query = userdata;

        query->check = NULL;
        polkit_query_done(query, answers[verdict]);
}

static int polkit_send(PolkitQuery *query, const PolkitQuestion *question) {
        return polkit_check_new(&query->check,
                                query->bus->message_bus,
                                &(PolkitCheckOptions){
                                        .subject = question->subject,
                                        .action = question->action,
                                        .details = question->details,
                                        .n_details = question->n_details,
                                        .is_interactive = question->is_interactive,
                                        .done = on_verdict,
                                        .userdata = query,
                                });
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
        r = polkit_send(query, question);
        if (r < 0)
                return r;
        *ret = TAKE(query);
        return 0;
}

static void on_guards_answer(void *userdata, GuardAnswer answer) {
        static const AccessAnswer answers[] = {
                [GUARD_GRANTED] = ACCESS_GRANTED,
                [GUARD_DENIED] = ACCESS_DENIED,
                [GUARD_NEEDS_INTERACTION] = ACCESS_NEEDS_INTERACTION,
                [GUARD_UNAVAILABLE] = ACCESS_UNAVAILABLE,
                [GUARD_ROOT_IS_SILENT] = ACCESS_ROOT_IS_SILENT,
        };
        PolkitQuery *query = userdata;

        query->guards = NULL;
        polkit_query_done(query, answers[answer]);
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
