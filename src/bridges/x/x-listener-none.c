/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* For builds without libxcb. */

#include <errno.h>
#include <stddef.h>

#include "bridges/x/x-listener.h"

bool x_listener_is_built(void) {
        return false;
}

int x_listener_start(XListener **ret) {
        return -EOPNOTSUPP;
}

XListener *x_listener_stop(XListener *listener) {
        return NULL;
}

XState x_listener_state(XListener *listener) {
        return X_NO_DISPLAY;
}

bool x_listener_take(XListener *listener, XFrame *ret) {
        return false;
}

void x_listener_count(XListener *listener, uint64_t *ret_n_lost, uint64_t *ret_n_left_out) {
        *ret_n_lost = *ret_n_left_out = 0;
}
