/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session link: what the probes of one recording share
 *
 * linux.ftrace sees threads; linux.process_stats of the same recording (tracing_session_id) looks up what they are. The
 * link holds the set of threads between the two. It is reference counted: each instance holds one reference.
 */

#include <stdint.h>

#include "host/pid-set.h"
#include "shared/list.h"
#include "shared/macro.h"

typedef struct SessionLink SessionLink;

/* Called when new threads were seen; takes the fresh pids out of `link->pids`. */
typedef void SessionResolve(SessionLink *link, void *userdata);

struct SessionLink {
        List links; /* in the host's list */
        uint64_t session_id;
        unsigned n_references;
        PidSet pids;
        SessionResolve *resolve; /* NULL while no probe watches */
        void *userdata;
};

/* Finds or makes the link of a session in `list`. Returns 0 or -ENOMEM. */
int session_link_get(SessionLink **ret, List *list, uint64_t session_id);
SessionLink *session_link_ref(SessionLink *link);
SessionLink *session_link_unref(SessionLink *link);
DEFINE_CLEANUP(SessionLink *, session_link_unref)

/* Only the first watcher of a session is called; a second one would only repeat its work. */
void session_link_watch(SessionLink *link, SessionResolve *resolve, void *userdata);
void session_link_unwatch(SessionLink *link, void *userdata);

/* Where to add the threads that were seen; NULL while no probe watches. */
static inline PidSet *session_link_pids(SessionLink *link) {
        return link && link->resolve ? &link->pids : NULL;
}

static inline void session_link_notify(SessionLink *link) {
        if (link && link->resolve && link->pids.n_fresh > 0)
                link->resolve(link, link->userdata);
}
