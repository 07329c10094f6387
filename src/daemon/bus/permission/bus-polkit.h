/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Polkit: may this peer do that?
 *
 * Asked asynchronously, with the peer's bus name as the subject, or its process if it has none, so that polkit knows
 * its seat and session. The user is prompted only if the message that asks allows it. No polkit means no; root is
 * never asked about, and a client on a native socket cannot be.
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

/* Of a client; one on a socket has neither name nor process, and cannot be asked about. */
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

/* 0, POLKIT_E_… or a negative errno. The question is the caller's. */
int polkit_ask(PolkitQuery **ret, Bus *bus, const PolkitQuestion *question);

/* The same of all producers that guard a data source of the config: they ask polkit, so it is theirs to say. A producer
 * that cannot be reached is not asked, for it records nothing then. The question needs no action or details. */
int polkit_ask_guards(PolkitQuery **ret,
                      Bus *bus,
                      const PolkitQuestion *question,
                      const Config *config);

/* Cancels: a prompt that is on the screen goes away. */
PolkitQuery *polkit_query_free(PolkitQuery *query);
DEFINE_CLEANUP(PolkitQuery *, polkit_query_free)
