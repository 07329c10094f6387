/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Attach() and Detach(): the connection that a session ends with, if any; and owners that come back
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "bus/link/request.h"
#include "bus/object/bus-emit.h"
#include "bus/object/bus-session.h"
#include "bus/permission/bus-ask.h"
#include "bus/session/bus-session-owner.h"
#include "bus/session/bus-session.h"
#include "core/model/policy.h"
#include "owner/permission.h"
#include "shared/log-user.h"

/* A Detach() that waits for polkit. The session may be freed meanwhile, so it is remembered by its number. */
typedef struct DetachRequest {
        Permission permission;
        Request request;
        uint64_t session_id;
} DetachRequest;

static DetachRequest *detach_request_free(DetachRequest *detach) {
        if (!detach)
                return NULL;
        permission_deinit(&detach->permission);
        request_deinit(&detach->request);
        free(detach);
        return NULL;
}
DEFINE_CLEANUP(DetachRequest *, detach_request_free)

static void detach_cancel(Request *request) {
        detach_request_free(container_of(request, DetachRequest, request));
}

static void bus_session_set_detached(BusSession *session, bool detached) {
        if (session_options(session->owned.session)->detached == detached)
                return;
        session_set_detached(session->owned.session, detached);
        bus_emit_session_changed(session, (const char *const[]){ "Detached", NULL });
        bus_session_mark(session);
}

/* A session that is already ending because its owner has gone cannot be kept by a new owner: it ends without waiting
 * for its data to be read. */
int bus_method_attach(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        BusSession *session = userdata;
        Client *client = session->bus->caller;
        int r;

        r = bus_session_check_own(session, error);
        if (r < 0)
                return r;
        if (session->owned.free_when_finished)
                return bus_error_set(error,
                                     BUS_ERROR_WRONG_STATE,
                                     "cannot attach: the session's owner has disconnected, and the "
                                     "session is being freed");
        session->awaited.until = 0;
        if (session->owner != client) {
                list_unlink(&session->owner_link);
                list_append(&client->sessions, &session->owner_link);
                session->owner = client;
        }
        bus_session_set_detached(session, false);
        return sd_bus_reply_method_return(message, "");
}

static BusSession *bus_session_by_id(Bus *bus, uint64_t id) {
        BusSession *session;

        list_for_each (session, &bus->sessions.all, owned.link) {
                if (session_id(session->owned.session) == id)
                        return session;
        }
        return NULL;
}

static void on_detach_answer(Permission *permission, int outcome, const AccessRefusal *refusal) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(detach_request_freep) DetachRequest *detach =
                container_of(permission, DetachRequest, permission);
        BusSession *session;

        session = bus_session_by_id(detach->request.client->bus, detach->session_id);
        if (refusal)
                permission_refusal_set(&error, refusal);
        else if (outcome < 0)
                sd_bus_error_set_errno(&error, outcome);
        else if (!session)
                bus_error_set(&error,
                              BUS_ERROR_NO_SUCH_SESSION,
                              "the session was freed while polkit was being asked");
        if (sd_bus_error_is_set(&error)) {
                request_reply_error(&detach->request, &error);
                return;
        }
        bus_session_set_detached(session, true);
        request_reply(&detach->request, "");
}

static int
detach_ask(BusSession *session, unsigned needs, sd_bus_message *message, sd_bus_error *error) {
        _cleanup_(detach_request_freep) DetachRequest *detach = NULL;
        Client *client = session->bus->caller;
        AccessRefusal refusal;
        int r;

        detach = calloc(1, sizeof(*detach));
        if (!detach)
                return -ENOMEM;
        detach->permission = (Permission){
                .access = bus_access(client->bus),
                .peer = access_peer_of(client),
                .needs = needs,
                .config = session_config(session->owned.session),
                .is_interactive = sd_bus_message_get_allow_interactive_authorization(message) > 0,
                .done = on_detach_answer,
        };
        detach->session_id = session_id(session->owned.session);
        if (request_init(&detach->request, client, message, detach_cancel))
                return request_refuse(error);
        r = permission_ask(&detach->permission, &refusal);
        if (r < 0)
                return r;
        if (r == PERMISSION_E_REFUSED)
                return permission_refusal_set(error, &refusal);
        detach = NULL;
        return 1;
}

int bus_method_detach(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        BusSession *session = userdata;
        const Client *client = session->bus->caller;
        unsigned needs = 0;
        int r;

        r = bus_session_check_own(session, error);
        if (r < 0)
                return r;
        if (session->owned.free_when_finished)
                return bus_error_set(
                        error, BUS_ERROR_WRONG_STATE, "cannot detach: the session is being freed");
        if (!session_options(session->owned.session)->detached)
                needs = policy_detach_needs(
                        client->bus->info, &client->identity, session->owned.session);
        if (needs)
                return detach_ask(session, needs, message, error);
        bus_session_set_detached(session, true);
        return sd_bus_reply_method_return(message, "");
}

/*
 * Owners in the earlier process
 */

void bus_session_await(BusSession *session, const char *name) {
        snprintf(session->awaited.name, sizeof(session->awaited.name), "%s", name);
        session->awaited.until = bus_now(session->bus) + BUS_OWNER_AWAIT_NS;
}

const char *bus_session_owner_name(const BusSession *session) {
        if (session->owner)
                return session->owner->name ?: "";
        return session->awaited.name;
}

static bool bus_session_awaits(const BusSession *session, const Client *client) {
        const Identity *owner;

        if (session->awaited.until == 0 || !client->name ||
            !streq(session->awaited.name, client->name))
                return false;
        owner = &session_options(session->owned.session)->owner;
        return owner->uid == client->identity.uid && owner->pid == client->identity.pid;
}

void bus_owners_came(Bus *bus, Client *client) {
        BusSession *session;

        list_for_each (session, &bus->sessions.all, owned.link) {
                if (!bus_session_awaits(session, client))
                        continue;
                session->awaited.until = 0;
                session->owner = client;
                list_append(&client->sessions, &session->owner_link);
        }
}

uint64_t bus_owners_deadline(const Bus *bus) {
        const BusSession *session;
        uint64_t deadline = UINT64_MAX;

        list_for_each (session, &bus->sessions.all, owned.link)
                if (session->awaited.until > 0)
                        deadline = MIN(deadline, session->awaited.until);
        return deadline;
}

void bus_owners_tick(Bus *bus, uint64_t now) {
        BusSession *session;

        list_for_each (session, &bus->sessions.all, owned.link) {
                if (session->awaited.until == 0 || session->awaited.until > now)
                        continue;
                session->awaited.until = 0;
                log_user(session_options(session->owned.session)->owner.uid,
                         LOG_NOTICE,
                         "session %" PRIu64 ": its owner has not come back",
                         session_id(session->owned.session));
                bus_session_owner_gone(session);
        }
}
