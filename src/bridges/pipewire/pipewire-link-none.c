/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* For builds without libpipewire. */

#include <errno.h>
#include <stddef.h>

#include "bridges/pipewire/pipewire-link.h"

bool pipewire_link_is_built(void) {
        return false;
}

int pipewire_link_new(PipewireLink **ret,
                      NodeTable *nodes,
                      PipewireProfile *profile,
                      void *userdata) {
        return -EOPNOTSUPP;
}

PipewireLink *pipewire_link_free(PipewireLink *link) {
        return NULL;
}

int pipewire_link_open(PipewireLink *link) {
        return -EOPNOTSUPP;
}

PipewireState pipewire_link_state(const PipewireLink *link) {
        return PIPEWIRE_CLOSED;
}

int pipewire_link_fd(const PipewireLink *link) {
        return -1;
}

void pipewire_link_turn(PipewireLink *link) {
}
