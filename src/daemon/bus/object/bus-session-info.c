/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The state of a session in the terms of D-Bus, and how sessions are found. Changes only mark the session here;
 * bus-session-work.c does the rest.
 */

#include <errno.h>
#include <stdio.h>

#include "bus/object/bus-session.h"

void bus_session_mark(BusSession *session) {
        owned_session_mark(&session->owned);
}

int bus_session_check_own(const BusSession *session, sd_bus_error *error) {
        if (!session->owned.foreign)
                return 0;
        return bus_error_set(
                error,
                BUS_ERROR_WRONG_STATE,
                "the session belongs to a program on Perfetto's consumer socket, and only that "
                "program can read, free, attach or detach it; stop it, or clone it");
}

const char *bus_session_stop_reason(const BusSession *session) {
        const SessionStream *stream = owned_session_stream(&session->owned);

        return stream->error[0] ? stream->error : session_stop_reason(session->owned.session);
}

void bus_session_totals(const BusSession *session, SessionTotals *ret) {
        const SessionStream *output = owned_session_stream(&session->owned);

        if (session->told) {
                *ret = *session->told;
                return;
        }
        session_totals(session->owned.session, ret);
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

/* The state of a data source's instance; if it has failed, also the reason. */
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

        list_for_each (session, &bus->sessions.all, owned.link) {
                const size_t n = strlen(session->path);

                if (!strncmp(session->path, path, n) &&
                    (!path[n] || !strncmp(path + n, "/buffer/", strlen("/buffer/"))))
                        return session;
        }
        return NULL;
}
