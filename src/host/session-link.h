/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session link: what the probes of one recording know of each other
 *
 * linux.ftrace meets threads; linux.process_stats of the same recording (tracing_session_id) looks up who they
 * are. The link holds the set between them. Reference counted: each instance holds one.
 */

#include <stdint.h>

#include "host/pid-set.h"
#include "shared/list.h"
#include "shared/macro.h"

typedef struct SessionLink SessionLink;

/* Called when threads were met; takes what is fresh in link->pids. */
typedef void SessionResolve(SessionLink *link, void *userdata);

struct SessionLink {
        List links; /* in the host's list */
        uint64_t session_id;
        unsigned n_references;
        PidSet pids;
        SessionResolve *resolve; /* NULL while nobody wants to know */
        void *userdata;
};

/* Finds or makes the link of a session in `list`. 0, -ENOMEM. */
int session_link_get(SessionLink **ret, List *list, uint64_t session_id);
SessionLink *session_link_ref(SessionLink *link);
SessionLink *session_link_unref(SessionLink *link);
DEFINE_CLEANUP(SessionLink *, session_link_unref)

/* The first one who wants to know is told; the others of a session would only repeat it. */
void session_link_watch(SessionLink *link, SessionResolve *resolve, void *userdata);
void session_link_unwatch(SessionLink *link, void *userdata);

/* Where to put threads that were met; NULL while nobody wants to know. */
static inline PidSet *session_link_pids(SessionLink *link) {
        return link && link->resolve ? &link->pids : NULL;
}

static inline void session_link_notify(SessionLink *link) {
        if (link && link->resolve && link->pids.n_fresh > 0)
                link->resolve(link, link->userdata);
}
