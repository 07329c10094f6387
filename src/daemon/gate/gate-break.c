/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How a gate becomes ready, and how it ends when a peer breaks a rule. */

#include <sys/socket.h>

#include "gate/gate-private.h"
#include "shared/log-user.h"

void gate_log(Gate *gate, uid_t user, const char *what, const char *why) {
        if (user == (uid_t)-1)
                log_user(user, LOG_NOTICE, "%s: %s", what, why);
        else
                log_user(user, LOG_NOTICE, "%s (user %u): %s", what, (unsigned)user, why);
}

void gate_is_ready(Gate *gate) {
        if (!list_is_linked(&gate->ready_link))
                list_append(&gate->gates->ready, &gate->ready_link);
}

void gate_break(Gate *gate, const char *why) {
        if (gate->is_broken)
                return;
        gate->is_broken = true;
        gate->has_passed = true;
        gate_log(gate, gate->options.user, "disconnecting a client", why);
        shutdown(gate->inner, SHUT_RDWR);
        shutdown(gate->outer, SHUT_RDWR);
        gate_is_ready(gate);
}
