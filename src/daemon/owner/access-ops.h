/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Access: how a transport asks polkit
 *
 * A transport knows its peer, and what a session needs beyond its owner's own rights (core/model/policy.h). Polkit
 * can only be reached on the system bus, so the host gives the transports this table. permission.h uses it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "shared/identity.h"

typedef struct AccessQuestion AccessQuestion;

#define ACCESS_WHY_MAX 512

/* The peer that polkit is asked about: by its name on the bus, or else by its process. */
typedef struct AccessPeer {
        Identity identity;
        uid_t user;       /* whose limits apply */
        const char *name; /* its name on the message bus; NULL: it has none */
        int pidfd; /* a pidfd of its process, which stays the caller's; -1: the kernel has none to give */
        /* BOOTTIME; 0: unknown. Another process may then have its number by now, so polkit is not asked about it.
         * Producers that guard a data source are asked, as they check the process themselves. */
        uint64_t connected_at_ns;
} AccessPeer;

typedef enum AccessAnswer {
        ACCESS_GRANTED,
        ACCESS_DENIED,
        ACCESS_NEEDS_INTERACTION, /* a person would be asked, but the question does not allow it */
        ACCESS_UNAVAILABLE,       /* polkit is not installed, or does not answer */
        ACCESS_ROOT_IS_SILENT, /* a producer that guards a data source accepts this only from root itself */
        ACCESS_LIMIT,          /* too many questions at once, or about too much */
} AccessAnswer;

/* Any answer but a grant, and what to tell the peer. */
typedef struct AccessRefusal {
        AccessAnswer answer;
        char why[ACCESS_WHY_MAX];
} AccessRefusal;

/* `refusal` is NULL if the peer's request is granted. The question is over and freed when it returns. Never
 * called from inside an op. */
typedef void (*AccessDone)(void *userdata, const AccessRefusal *refusal);

typedef struct AccessAsk {
        const AccessPeer *peer;
        unsigned need;        /* one of POLICY_NEEDS_… */
        const Config *config; /* polkit's rules can examine it */
        bool is_interactive;  /* a person may be asked */
        AccessDone done;
        void *userdata;
} AccessAsk;

enum {
        _ACCESS_E_SUCCESS,
        ACCESS_E_REFUSED, /* at once; the refusal is filled in */
};

typedef struct AccessOps {
        /* Returns 0, ACCESS_E_REFUSED or a negative errno. What the question points to may go when it returns. */
        int (*ask)(AccessQuestion **ret,
                   void *host,
                   const AccessAsk *ask,
                   AccessRefusal *ret_refusal);
        /* Asks whether producers may be started for the peer, to list what of the system can be recorded
         * (POLICY_NEEDS_TRACE_SYSTEM), as far as polkit knows without asking a person. Otherwise the same; a
         * refusal has no words, as the peer is not told. */
        int (*ask_quietly)(AccessQuestion **ret,
                           void *host,
                           const AccessPeer *peer,
                           AccessDone done,
                           void *userdata);
        /* Takes back a question whose asker is gone. */
        AccessQuestion *(*cancel)(AccessQuestion *question);
} AccessOps;

/* The table, and the host that answers. */
typedef struct AccessHost {
        const AccessOps *
                ops; /* NULL: there is nobody to ask, so everything that needs permission is denied */
        void *host;
} AccessHost;
