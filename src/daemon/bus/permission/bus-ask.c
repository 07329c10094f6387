/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "bus/link/bus-error.h"
#include "bus/permission/bus-ask.h"
#include "bus/permission/bus-need.h"
#include "core/model/policy.h"
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

/* The number may be another process's by now. A pidfd tells, which older kernels do not give; there, a process that
 * began after the connection cannot be the peer. */
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

static void on_answer(void *userdata, PolkitAnswer answer) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(freep) AccessQuestion *question = userdata;

        if (answer != POLKIT_GRANTED)
                need_refuse(question->need, answer, &error);
        question->done(question->userdata, answer == POLKIT_GRANTED, error.message ?: "");
}

/* These callers want an answer from a person if it takes one: their protocol has no word for it. */
static int question_ask(AccessQuestion *question,
                        Bus *bus,
                        const AccessPeer *peer,
                        const Config *config,
                        sd_bus_error *error) {
        PolkitSubject subject = { .uid = peer->identity.uid,
                                  .user = peer->user,
                                  .pid = peer->identity.pid };
        int r;

        r = peer_start_time(peer, &subject.start_time);
        if (r < 0)
                return bus_error_set(error,
                                     BUS_ERROR_NOT_AUTHORIZED,
                                     "cannot ask polkit about process %d: %s",
                                     (int)peer->identity.pid,
                                     strerror(-r));
        return need_ask(&question->query,
                        bus,
                        &(NeedQuestion){
                                .subject = subject,
                                .need = question->need,
                                .config = config,
                                .is_interactive = true,
                                .done = on_answer,
                                .userdata = question,
                        },
                        error);
}

static int access_ask(AccessQuestion **ret,
                      void *host,
                      const AccessPeer *peer,
                      unsigned need,
                      const Config *config,
                      AccessDone done,
                      void *userdata,
                      char why[static ACCESS_WHY_MAX]) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(freep) AccessQuestion *question = calloc(1, sizeof(*question));
        int r;

        if (!question)
                return -ENOMEM;
        *question = (AccessQuestion){ .need = need, .done = done, .userdata = userdata };
        r = question_ask(question, host, peer, config, &error);
        if (r < 0 && !sd_bus_error_is_set(&error))
                return r;
        if (r < 0) {
                snprintf(why, ACCESS_WHY_MAX, "%s", error.message);
                return ACCESS_E_DENIED;
        }
        *ret = TAKE(question);
        return 0;
}

/* Why not is nobody's to know, so a question that cannot be asked is one that was denied. */
static int access_ask_quietly(AccessQuestion **ret,
                              void *host,
                              const AccessPeer *peer,
                              AccessDone done,
                              void *userdata) {
        const PolkitDetail details[] = { { "sources", TRACING_EVENTS_SOURCE } };
        _cleanup_(freep) AccessQuestion *question = calloc(1, sizeof(*question));
        PolkitSubject subject = { .uid = peer->identity.uid,
                                  .user = peer->user,
                                  .pid = peer->identity.pid };
        int r;

        if (!question)
                return -ENOMEM;
        *question = (AccessQuestion){
                .need = POLICY_NEEDS_TRACE_SYSTEM,
                .done = done,
                .userdata = userdata,
        };
        if (peer_start_time(peer, &subject.start_time) < 0)
                return ACCESS_E_DENIED;
        r = polkit_ask(&question->query,
                       host,
                       &(PolkitQuestion){
                               .subject = subject,
                               .action = TRACING_ACTION_TRACE_SYSTEM,
                               .details = details,
                               .n_details = ARRAY_SIZE(details),
                               .done = on_answer,
                               .userdata = question,
                       });
        if (r)
                return r < 0 ? r : ACCESS_E_DENIED;
        *ret = TAKE(question);
        return 0;
}

static AccessQuestion *access_cancel(AccessQuestion *question) {
        polkit_query_free(question->query);
        free(question);
        return NULL;
}

const AccessOps bus_access_ops = {
        .ask = access_ask,
        .ask_quietly = access_ask_quietly,
        .cancel = access_cancel,
};
