/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The state of a session as D-Bus says it, and where sessions are found. A change only marks the session here;
 * bus_session_work() does the rest.
 */

#include <errno.h>
#include <stdio.h>

#include "bus/bus-session.h"

void bus_session_mark(BusSession *session) {
        if (!list_is_linked(&session->dirty_link))
                list_append(&session->bus->dirty_sessions, &session->dirty_link);
}

const SessionStream *bus_session_stream(const BusSession *session) {
        return session->foreign ?: &session->output;
}

int bus_session_check_own(const BusSession *session, sd_bus_error *error) {
        if (!session->foreign)
                return 0;
        return bus_error_set(
                error,
                BUS_ERROR_WRONG_STATE,
                "the session belongs to a program on Perfetto's consumer socket, and only that "
                "program can read, free, attach or detach it; stop it, or clone it");
}

bool bus_session_is_finished(const BusSession *session) {
        return session_stream_is_settled(bus_session_stream(session));
}

const char *bus_session_stop_reason(const BusSession *session) {
        const SessionStream *stream = bus_session_stream(session);

        return stream->error[0] ? stream->error : session_stop_reason(session->session);
}

/* A detached session whose starter is gone keeps its data for a while, and nothing when it was written out. */
uint64_t bus_session_deadline(const BusSession *session) {
        if (session->foreign || session->owner || !bus_session_is_finished(session))
                return UINT64_MAX;
        return session_stopped_at(session->session) +
               (session_options(session->session)->has_output ? 0 : SESSION_LINGER_NS);
}

void bus_session_totals(const BusSession *session, SessionTotals *ret) {
        const SessionStream *output = bus_session_stream(session);

        session_totals(session->session, ret);
        if (output->output && !session_stream_is_read(output))
                ret->bytes_output = session_stream_n_written(output);
}

static const char *source_state(const InstanceInfo *info) {
        if (info->is_cut_short)
                return "gone";
        return info->is_suspended && info->state < INSTANCE_STOPPED
                       ? "suspended"
                       : instance_state_name(info->state);
}

/* Its state; for one that failed, also why. */
int bus_append_source(sd_bus_message *reply, const char *types, const InstanceInfo *info) {
        _cleanup_(freep) char *failed = NULL;

        if (info->state == INSTANCE_STOPPED && info->why[0] &&
            asprintf(&failed, "failed: %s", info->why) < 0) {
                failed = NULL;
                return -ENOMEM;
        }
        return sd_bus_message_append(reply,
                                     types,
                                     info->source,
                                     info->producer,
                                     (uint32_t)info->identity.uid,
                                     (uint32_t)info->identity.pid,
                                     failed ?: source_state(info));
}

BusSession *bus_session_by_path(Bus *bus, const char *path) {
        BusSession *session;

        list_for_each (session, &bus->sessions, link) {
                const size_t n = strlen(session->path);

                if (!strncmp(session->path, path, n) &&
                    (!path[n] || !strncmp(path + n, "/buffer/", strlen("/buffer/"))))
                        return session;
        }
        return NULL;
}
