/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Making a session. Everything that can fail is done before the first producer hears of it. */

#include <errno.h>

#include "core/events/concurrent.h"
#include "core/events/self-trace.h"
#include "core/life/self-producer.h"
#include "core/life/session-make.h"
#include "core/life/session-progress.h"
#include "core/life/settle.h"
#include "core/model/recent.h"
#include "core/model/session-notes.h"
#include "core/model/session.h"
#include "core/requests/session-match.h"
#include "core/session.h"
#include "shared/error.h"

/* A config may bring its own, to be found again by it. */
static void session_choose_uuid(Session *session, const Perfetto__Protos__TraceConfig *config) {
        if (config->has_trace_uuid_msb && config->has_trace_uuid_lsb) {
                session->uuid[0] = (uint64_t)config->trace_uuid_msb;
                session->uuid[1] = (uint64_t)config->trace_uuid_lsb;
        } else {
                session->service->ops->random(
                        session->service->userdata, session->uuid, sizeof(session->uuid));
        }
}

/* Those that an exclusive one does not want beside it. What they have recorded stays theirs to read. */
static void session_stop_others(Session *session) {
        Session *other;

        list_for_each (other, &session->service->sessions, link)
                if (other != session)
                        session_end(other, "exclusive");
        service_settle(session->service);
}

/* What the session changes for everybody; it has been asked for with the right to. */
static void session_take_over(Session *session) {
        const Perfetto__Protos__TraceConfig *config = session->config->pb;

        if (config->lockdown_mode)
                session->service->is_locked_down =
                        config->lockdown_mode ==
                        PERFETTO__PROTOS__TRACE_CONFIG__LOCKDOWN_MODE_OPERATION__LOCKDOWN_SET;
        if (config->exclusive_prio > 0)
                session_stop_others(session);
}

/* The last thing that can fail, so that only what begins counts. */
static int session_remember(const Session *session, const Config *config, uint64_t now) {
        Recent *recent;

        if (!config->pb->enable_extra_guardrails)
                return 0;
        return error_fold(recent_new(&recent,
                                     session->service,
                                     session->options.owner.uid,
                                     session->user,
                                     config->pb->unique_session_name ?: "",
                                     now));
}

int session_new(Session **ret,
                Service *service,
                Config *config,
                const SessionOptions *options,
                const SessionOps *ops,
                void *peer,
                SessionError *error,
                uint64_t now) {
        _cleanup_(session_discardp) Session *session = NULL;
        int r;

        now = service_note_now(service, now);
        r = session_check(service, config, options, error, now);
        if (r)
                return r;
        r = session_allocate(&session, service, options);
        if (r < 0)
                return r;
        session->ops = ops;
        session->peer = peer;
        r = session_charge(session, error);
        if (r)
                return r;
        r = session_add_buffers(session, config->pb, NULL, error);
        if (r)
                return r;
        r = session_add_sources(session, config->pb);
        if (r < 0)
                return r;
        r = session_triggers_init(session, config->pb);
        if (r < 0)
                return r;
        r = session_add_filter(session, config->pb);
        if (r < 0)
                return r;
        r = session_remember(session, config, now);
        if (r < 0)
                return r;

        session_choose_uuid(session, config->pb);
        session_register(session);
        session->config = config;
        /* Nothing can fail from here on. */
        session_take_over(session);
        session_note_periods(session, now);
        concurrent_added(session);
        self_session_added(session);
        session_match_all(session);
        self_trace_offer(session);
        session_triggers_set_up(session, now);
        session->is_quiet = false;
        *ret = TAKE(session);
        return 0;
}
