/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How many bytes the gates of one user hold together. */

#include <assert.h>
#include <errno.h>
#include <malloc.h>

#include "gate/gate-private.h"

#define TRIM_BYTES_MIN (1u << 20) /* after holding this much, give memory back to the system */

static GateUser *user_find(const Gates *gates, uid_t user) {
        GateUser *found;

        list_for_each (found, &gates->users, link)
                if (found->user == user)
                        return found;
        return NULL;
}

int gate_join_user(Gate *gate) {
        gate->user = user_find(gate->gates, gate->options.user);
        if (!gate->user) {
                gate->user = calloc(1, sizeof(*gate->user));
                if (!gate->user)
                        return -ENOMEM;
                gate->user->user = gate->options.user;
                list_append(&gate->gates->users, &gate->user->link);
        }
        gate->user->n_gates++;
        return 0;
}

void gate_leave_user(Gate *gate) {
        if (!gate->user || --gate->user->n_gates > 0)
                return;
        assert(gate->user->n_bytes == 0);
        list_unlink(&gate->user->link);
        free(gate->user);
}

size_t gates_n_bytes(const Gates *gates, uid_t user) {
        const GateUser *found = user_find(gates, user);

        return found ? found->n_bytes : 0;
}

bool gate_hold(Gate *gate, size_t n) {
        GateUser *user = gate->user;

        if (!gate->options.is_bus && user->n_bytes + n > GATE_BYTES_PER_USER_MAX)
                return false;
        user->n_bytes += n;
        user->n_peak = MAX(user->n_peak, user->n_bytes);
        return true;
}

void gate_release(Gate *gate, size_t n) {
        GateUser *user = gate->user;

        if (n == 0)
                return;
        user->n_bytes -= n;
        if (user->n_bytes > 0)
                return;
        if (user->n_peak >= TRIM_BYTES_MIN)
                malloc_trim(0);
        user->n_peak = 0;
}
