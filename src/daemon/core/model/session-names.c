/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Finding sessions by name, in the name space of the user who asks. */

#include "core/model/session-names.h"
#include "core/model/service.h"
#include "core/model/session.h"

static bool session_is_named(const Session *session, const char *name) {
        return name[0] && streq(session_name(session), name);
}

Session *session_find_own(Service *service, uid_t uid, const char *name) {
        Session *session, *youngest = NULL;

        list_for_each (session, &service->sessions, link) {
                if (session->options.owner.uid != uid || !session_is_named(session, name))
                        continue;
                if (session->state != SESSION_STOPPED)
                        return session;
                youngest = session;
        }
        return youngest;
}

/* Searches all users' sessions in that state. Returns the youngest, and whether only one user has the name. */
static Session *
find_in_state(Service *service, const char *name, bool is_stopped, bool *ret_is_ambiguous) {
        Session *session, *found = NULL;

        *ret_is_ambiguous = false;
        list_for_each (session, &service->sessions, link) {
                if ((session->state == SESSION_STOPPED) != is_stopped ||
                    !session_is_named(session, name))
                        continue;
                if (found && found->options.owner.uid != session->options.owner.uid)
                        *ret_is_ambiguous = true;
                found = session;
        }
        return found;
}

int session_find_any(Session **ret, Service *service, uid_t viewer, const char *name) {
        bool is_ambiguous = false;
        Session *session;

        session = session_find_own(service, viewer, name);
        for (int is_stopped = 0; !session && is_stopped < 2; is_stopped++)
                session = find_in_state(service, name, is_stopped, &is_ambiguous);
        *ret = is_ambiguous ? NULL : session;
        return is_ambiguous ? SESSION_NAMES_E_AMBIGUOUS : 0;
}
