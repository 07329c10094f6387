/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What may be asked of a session: start, stop, flush, clone, free. */

#include <errno.h>

#include "core/events/concurrent.h"
#include "core/events/self-trace.h"
#include "core/life/session-make.h"
#include "core/life/session-progress.h"
#include "core/life/settle.h"
#include "core/model/session.h"
#include "core/requests/flush.h"
#include "core/requests/source-instance.h"
#include "core/session-clone.h"

int session_start(Session *session, uint64_t now) {
        int r;

        r = session_begin(session, service_note_now(session->service, now));
        service_settle(session->service);
        return r;
}

void session_stop(Session *session, const char *reason, uint64_t now) {
        service_note_now(session->service, now);
        session_end(session, reason);
        service_settle(session->service);
}

void session_disable(Session *session, const char *reason, uint64_t now) {
        service_note_now(session->service, now);
        session_end_within(
                session, reason, MIN(session_flush_timeout_ns(session), SESSION_DISABLE_FLUSH_NS));
        service_settle(session->service);
}

int session_flush(Session *session,
                  uint64_t timeout_ns,
                  uint64_t flags,
                  SessionFlushDone done,
                  void *userdata,
                  uint64_t now) {
        int r;

        service_note_now(session->service, now);
        r = session_begin_flush(session, timeout_ns, flags, done, userdata);
        service_settle(session->service);
        return r;
}

int session_clone(Session *session,
                  const CloneOptions *options,
                  SessionCloneDone done,
                  void *userdata,
                  SessionError *error,
                  uint64_t now) {
        int r;

        now = service_note_now(session->service, now);
        r = session_begin_clone(session, options, done, userdata, error, now);
        service_settle(session->service);
        return r;
}

/* Whatever pass is under way goes no further, and the last one only says how it ended. */
void session_output_full(Session *session, uint64_t now) {
        SessionReader *reader = &session->reader;

        service_note_now(session->service, now);
        reader->is_full = true;
        reader->is_finished = false;
        session_end(session, "max-file-size");
        service_settle(session->service);
}

/* Nobody waits for their answers: these carry numbers that are forgotten by then. Those of a session that is left go
 * on, in the next process. */
static void session_end_instances(Session *session) {
        SourceInstance *instance;

        list_for_each (instance, &session->instances, session_link) {
                if (instance_is_live(instance) && !session->is_left)
                        instance_stop(instance);
                instance_free(instance);
        }
}

Session *session_free(Session *session) {
        Flush *flush;

        if (!session)
                return NULL;

        session->is_quiet = true;
        session_abort_clones(session);
        concurrent_removed(session);
        self_session_removed(session);
        list_for_each (flush, &session->flushes, link)
                flush_finish(flush, SESSION_E_STATE);
        session_end_instances(session);
        return session_discard(session);
}
