/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A session begins again with what another process has left of it. */

#include <errno.h>

#include "core/events/concurrent.h"
#include "core/events/self-trace.h"
#include "core/life/self-producer.h"
#include "core/life/session-make.h"
#include "core/life/session-progress.h"
#include "core/life/settle.h"
#include "core/model/session-notes.h"
#include "core/model/session.h"
#include "core/requests/session-match.h"
#include "core/session-restore.h"

static int session_make_again(Session *session,
                              const Config *config,
                              SessionFormer *former,
                              SessionError *error) {
        int r;

        if (former->n_buffers != config->pb->n_buffers)
                return -EINVAL;
        r = session_charge(session, error);
        if (r == 0)
                r = session_add_buffers(session, config->pb, former->buffers, error);
        if (r == 0)
                r = session_add_sources(session, config->pb);
        if (r == 0)
                r = session_triggers_init(session, config->pb);
        return r ? r : session_add_filter(session, config->pb);
}

/* Those who wrote are strangers now: who comes back is another producer to this service. */
static void session_retire_producers(Session *session) {
        for (size_t i = 0; i < session->n_buffers; i++)
                trace_buffer_retire_producers(session->buffers[i].buffer);
}

int session_restore(Session **ret,
                    Service *service,
                    Config *config,
                    const SessionOptions *options,
                    const SessionOps *ops,
                    void *peer,
                    SessionFormer *former,
                    SessionError *error,
                    uint64_t now) {
        _cleanup_(session_discardp) Session *session = NULL;
        int r;

        now = service_note_now(service, now);
        if (service_find_session(service, former->id))
                return -EEXIST;
        r = session_allocate(&session, service, options);
        if (r < 0)
                return r;
        session->ops = ops;
        session->peer = peer;
        r = session_make_again(session, config, former, error);
        if (r) {
                session_leave(session);
                return r;
        }

        memcpy(session->uuid, former->uuid, sizeof(session->uuid));
        session_register_as(session, former->id);
        session->config = config;
        session_retire_producers(session);
        concurrent_added(session);
        self_session_added(session);
        session_match_all(session);
        self_trace_offer(session);
        session_triggers_set_up(session, now);
        session_go_on(session, former->started_at, now);
        session_note_away(session, former->left_at, now);
        session->is_quiet = false;
        service_settle(service);
        *ret = TAKE(session);
        return 0;
}

void session_leave(Session *session) {
        session->is_left = true;
}

bool session_can_be_left(const Session *session) {
        return session->options.is_kept && session->state == SESSION_STARTED &&
               session->cloned_from == 0;
}
