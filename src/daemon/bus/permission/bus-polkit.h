/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Polkit: may this peer do that?
 *
 * Polkit is asked asynchronously. The subject is the peer's bus name, or its process if it has no name, so that polkit
 * knows its seat and session. The user is prompted only if the message that asks allows it. Without polkit the answer
 * is no. Polkit is never asked about root, and cannot be asked about clients on native sockets.
 */

#include "bus/link/connection.h"
#include "config/config.h"
#include "owner/access-ops.h"
#include "polkit/polkit-check.h"

#define POLKIT_PENDING_PER_USER_MAX 8
#define POLKIT_KEEP_NS \
        (UINT64_C(5) * 60 * 1000000000) /* a grant of manage-sessions to a connection */

typedef struct PolkitQuery PolkitQuery;

/* Never called from inside polkit_ask(). The query is over and freed when it returns. */
typedef void (*PolkitDone)(void *userdata, AccessAnswer answer);

enum {
        _POLKIT_E_SUCCESS,
        POLKIT_E_UNAVAILABLE, /* there is nobody to ask */
        POLKIT_E_LIMIT,       /* POLKIT_PENDING_PER_USER_MAX */
};

/* The subject for a client. A client on a socket has neither a name nor a process, and cannot be asked about. */
PolkitSubject polkit_subject_of(const Client *client);

typedef struct PolkitQuestion {
        PolkitSubject subject;
        const char *action;
        const PolkitDetail *details;
        size_t n_details;
        bool is_interactive; /* a person may be asked */
        PolkitDone done;
        void *userdata;
} PolkitQuestion;

/* Returns 0, POLKIT_E_… or a negative errno. The question may go when this returns. */
int polkit_ask(PolkitQuery **ret, Bus *bus, const PolkitQuestion *question);

/* Likewise asks all producers that guard a data source of the config, which in turn ask polkit. A producer that
 * cannot be reached is not asked, for it records nothing then. The question needs no action or details. */
int polkit_ask_guards(PolkitQuery **ret,
                      Bus *bus,
                      const PolkitQuestion *question,
                      const Config *config);

/* Cancels the query: a prompt on the screen goes away. */
PolkitQuery *polkit_query_free(PolkitQuery *query);
DEFINE_CLEANUP(PolkitQuery *, polkit_query_free)
