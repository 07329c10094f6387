/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Session link: what the probes of one recording share */

#include <errno.h>
#include <stdlib.h>

#include "host/session-link.h"

int session_link_get(SessionLink **ret, List *list, uint64_t session_id) {
        SessionLink *link;

        list_for_each (link, list, links)
                if (link->session_id == session_id) {
                        *ret = session_link_ref(link);
                        return 0;
                }

        link = calloc(1, sizeof(*link));
        if (!link)
                return -ENOMEM;
        link->session_id = session_id;
        link->n_references = 1;
        list_append(list, &link->links);
        *ret = link;
        return 0;
}

SessionLink *session_link_ref(SessionLink *link) {
        link->n_references++;
        return link;
}

SessionLink *session_link_unref(SessionLink *link) {
        if (!link || --link->n_references > 0)
                return NULL;
        list_unlink(&link->links);
        pid_set_deinit(&link->pids);
        free(link);
        return NULL;
}

void session_link_watch(SessionLink *link, SessionResolve *resolve, void *userdata) {
        if (link->resolve)
                return;
        link->resolve = resolve;
        link->userdata = userdata;
}

void session_link_unwatch(SessionLink *link, void *userdata) {
        if (link->userdata != userdata)
                return;
        link->resolve = NULL;
        link->userdata = NULL;
}
