/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Waiting: for a time or for a reply, until Ctrl-C
 *
 * Blocks SIGINT, SIGTERM and SIGHUP for as long as it exists, so that what the verb has begun (a half written file) is
 * cleaned up when one of them comes.
 */

#include <stdint.h>
#include <systemd/sd-event.h>

#include "client/bus-client.h"

typedef struct Waiting {
        sd_event *event;
} Waiting;

/* Each reports errors. After a signal: "given up", and STATUS_FAILED. */
ExitStatus waiting_init(Waiting *waiting);
void waiting_deinit(Waiting *waiting);

ExitStatus waiting_sleep(Waiting *waiting, uint64_t usec);
/* Leaves the reply, which may be an error, to the caller. */
ExitStatus waiting_send(Waiting *waiting,
                        const BusClient *client,
                        sd_bus_message *call,
                        uint64_t timeout_usec,
                        sd_bus_message **ret_reply);
/* `ret_reply` may be NULL. */
ExitStatus waiting_call(Waiting *waiting,
                        const BusClient *client,
                        sd_bus_message *call,
                        uint64_t timeout_usec,
                        sd_bus_message **ret_reply);
