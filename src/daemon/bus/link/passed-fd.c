/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Descriptors are taken by way of the gate's stand-ins, and closed on the closer's threads. */

#include "bus/link/passed-fd.h"
#include "bus/link/bus-error.h"
#include "closer/closer.h"
#include "gate/stand-in.h"

int passed_fd_take(int *ret, int stand_in, sd_bus_error *error) {
        int r;

        r = stand_in_take(ret, stand_in);
        if (r < 0)
                return bus_error_set(error,
                                     BUS_ERROR_OUTPUT_FAILED,
                                     "the descriptor did not arrive; pass it once, in a message of "
                                     "its own");
        return 0;
}

int passed_fd_close(const Client *client, int fd) {
        return closer_take(client->user, fd);
}
