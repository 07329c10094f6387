/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Session choice: the session that a verb is about */

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "client/say.h"
#include "client/service-view.h"
#include "client/session-choice.h"
#include "shared/names.h"

/* Whether it is running, and is not a snapshot. */
static bool is_choice(const SessionInfo *session, uid_t uid) {
        return session->owner_uid == uid && session->cloned_from == 0 && session->state &&
               !streq(session->state, "stopped");
}

static bool is_flight_recorder(const SessionInfo *session) {
        return session->name && streq(session->name, FLIGHT_RECORDER_NAME);
}

/* Sets `*ret` to the only matching session, or to NULL if none or several match; counts them. */
static size_t find_choice(const GArray *sessions, const SessionInfo **ret) {
        size_t n = 0;

        *ret = NULL;
        for (guint i = 0; i < sessions->len; i++) {
                const SessionInfo *session = &g_array_index(sessions, SessionInfo, i);

                if (!is_choice(session, getuid()))
                        continue;
                *ret = n++ == 0 ? session : NULL;
                if (!is_flight_recorder(session))
                        continue;
                *ret = session;
                return 1;
        }
        return n;
}

static ExitStatus say_no_session(void) {
        say_error(_("you have no running session"));
        say_hint(_("\"desktrace record{bus} --flight-recorder\" starts one that keeps the most "
                   "recent events."));
        return STATUS_NOT_FOUND;
}

static ExitStatus say_choices(const GArray *sessions) {
        say_error(_("you have several running sessions; name one of them:"));
        for (guint i = 0; i < sessions->len; i++) {
                const SessionInfo *session = &g_array_index(sessions, SessionInfo, i);
                g_autofree char *name = NULL;

                if (!is_choice(session, getuid()))
                        continue;
                name = say_clean(session->name ? session->name : "",
                                 session->name ? strlen(session->name) : 0);
                fprintf(stderr, "  %" PRIu64 "  %s\n", session->id, name);
        }
        return STATUS_USAGE;
}

static ExitStatus choose_default(const BusClient *client, char **ret_path) {
        g_autoptr(GArray) sessions = NULL;
        const SessionInfo *session;
        ExitStatus status;
        size_t n;

        status = view_list_sessions(&sessions, client);
        if (status)
                return status;
        n = find_choice(sessions, &session);
        if (n == 0)
                return say_no_session();
        if (n > 1)
                return say_choices(sessions);
        *ret_path = g_strdup_printf("%s/%" PRIu64, TRACING_SESSION_PATH, session->id);
        return STATUS_OK;
}

ExitStatus session_choose(const BusClient *client, const char *name, char **ret_path) {
        return name ? bus_client_find_session(client, ret_path, name)
                    : choose_default(client, ret_path);
}
