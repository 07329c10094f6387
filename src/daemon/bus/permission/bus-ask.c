/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Peers in the terms of polkit, and its answers in those of the transports. */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "bus/link/bus-error.h"
#include "bus/permission/bus-ask.h"
#include "bus/permission/bus-need.h"
#include "core/model/policy.h"
#include "owner/permission.h"
#include "shared/names.h"
#include "shared/process-time.h"

#define NS_PER_S UINT64_C(1000000000)

struct AccessQuestion {
        PolkitQuery *query;
        unsigned need;
        AccessDone done;
        void *userdata;
};

bool bus_can_ask(const Bus *bus) {
        return bus->is_shared;
}

static bool has_ended(int pidfd) {
        struct pollfd process = { .fd = pidfd, .events = POLLIN };

        return poll(&process, 1, 0) != 0;
}

/* The pid may belong to another process by now. A pidfd tells. Older kernels do not give one for a peer; there, a
 * process that began after the connection cannot be the peer. */
static int peer_start_time(const AccessPeer *peer, uint64_t *ret_ticks) {
        const uint64_t ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK);
        int r;

        r = process_start_time(peer->identity.pid, ret_ticks);
        if (r < 0)
                return r;
        if (peer->pidfd >= 0)
                return has_ended(peer->pidfd) ? -ESRCH : 0;
        return *ret_ticks > peer->connected_at_ns / NS_PER_S * ticks_per_s + ticks_per_s ? -ESRCH
                                                                                         : 0;
}

/* Polkit knows a client on the message bus by its name. A peer on a socket is known by its process. */
static int subject_init(PolkitSubject *ret, const AccessPeer *peer, unsigned need) {
        *ret = (PolkitSubject){ .uid = peer->identity.uid, .user = peer->user, .name = peer->name };
        if (peer->name)
                return 0;
        if (peer->connected_at_ns == 0) {
                if (!(need & POLICY_NEEDS_GUARDED))
                        return 0; /* nobody who can be asked about */
                ret->pid = peer->identity.pid;
                (void)process_start_time(ret->pid, &ret->start_time);
                return 0;
        }
        ret->pid = peer->identity.pid;
        return peer_start_time(peer, &ret->start_time);
}

/* Visibility of programs depends on whose connection or process it is, and a pid alone does not prove that. */
static bool is_certain(const AccessPeer *peer) {
        return peer->name || peer->connected_at_ns > 0;
}

static void on_answer(void *userdata, AccessAnswer answer) {
        _cleanup_(freep) AccessQuestion *question = userdata;
        AccessRefusal refusal;

        if (answer == ACCESS_GRANTED) {
                question->done(question->userdata, NULL);
                return;
        }
        need_refuse(&refusal, question->need, answer);
        question->done(question->userdata, &refusal);
}

static int question_new(AccessQuestion **ret, unsigned need, AccessDone done, void *userdata) {
        *ret = calloc(1, sizeof(**ret));
        if (!*ret)
                return -ENOMEM;
        **ret = (AccessQuestion){ .need = need, .done = done, .userdata = userdata };
        return 0;
}

static int
access_ask(AccessQuestion **ret, void *host, const AccessAsk *ask, AccessRefusal *ret_refusal) {
        _cleanup_(freep) AccessQuestion *question = NULL;
        NeedQuestion need = { .ask = ask, .done = on_answer };
        int r;

        r = question_new(&question, ask->need, ask->done, ask->userdata);
        if (r < 0)
                return r;
        if (ask->need == POLICY_NEEDS_GUARDED_OWN && !is_certain(ask->peer)) {
                need_refuse(ret_refusal, ask->need, ACCESS_UNAVAILABLE);
                return ACCESS_E_REFUSED;
        }
        r = subject_init(&need.subject, ask->peer, ask->need);
        if (r < 0) {
                access_refuse(ret_refusal,
                              ACCESS_DENIED,
                              "cannot ask polkit about process %d: %s",
                              (int)ask->peer->identity.pid,
                              strerror(-r));
                return ACCESS_E_REFUSED;
        }
        need.userdata = question;
        r = need_ask(&question->query, host, &need, ret_refusal);
        if (r)
                return r;
        *ret = TAKE(question);
        return 0;
}

/* The peer is not told why, so a question that cannot be asked counts as one that was denied. */
static int access_ask_quietly(AccessQuestion **ret,
                              void *host,
                              const AccessPeer *peer,
                              AccessDone done,
                              void *userdata) {
        const PolkitDetail details[] = { { "sources", TRACING_EVENTS_SOURCE } };
        PolkitQuestion polkit = {
                .action = TRACING_ACTION_TRACE_SYSTEM,
                .details = details,
                .n_details = ARRAY_SIZE(details),
                .done = on_answer,
        };
        _cleanup_(freep) AccessQuestion *question = NULL;
        int r;

        r = question_new(&question, POLICY_NEEDS_TRACE_SYSTEM, done, userdata);
        if (r < 0)
                return r;
        if (subject_init(&polkit.subject, peer, question->need) < 0)
                return ACCESS_E_REFUSED;
        polkit.userdata = question;
        r = polkit_ask(&question->query, host, &polkit);
        if (r)
                return r < 0 ? r : ACCESS_E_REFUSED;
        *ret = TAKE(question);
        return 0;
}

static AccessQuestion *access_cancel(AccessQuestion *question) {
        polkit_query_free(question->query);
        free(question);
        return NULL;
}

static const AccessOps access_ops = {
        .ask = access_ask,
        .ask_quietly = access_ask_quietly,
        .cancel = access_cancel,
};

AccessHost bus_access(Bus *bus) {
        return (AccessHost){ &access_ops, bus };
}

AccessPeer access_peer_of(const Client *client) {
        return (AccessPeer){
                .identity = client->identity,
                .user = client->user,
                .name = client->name,
                .pidfd = -1,
        };
}

int permission_refusal_set(sd_bus_error *error, const AccessRefusal *refusal) {
        static const BusError kinds[] = {
                [ACCESS_DENIED] = BUS_ERROR_NOT_AUTHORIZED,
                [ACCESS_NEEDS_INTERACTION] = BUS_ERROR_AUTHORIZATION_NEEDED,
                [ACCESS_UNAVAILABLE] = BUS_ERROR_NOT_AUTHORIZED,
                [ACCESS_ROOT_IS_SILENT] = BUS_ERROR_ROOT_IS_SILENT,
                [ACCESS_LIMIT] = BUS_ERROR_LIMIT_EXCEEDED,
        };

        return sd_bus_error_set(error, bus_error_name(kinds[refusal->answer]), refusal->why);
}

int polkit_refuse(sd_bus_error *error) {
        AccessRefusal refusal;

        need_refuse(&refusal, POLICY_NEEDS_MANAGE, ACCESS_LIMIT);
        return permission_refusal_set(error, &refusal);
}
