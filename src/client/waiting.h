/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Waiting: for a time or for a reply, until Ctrl-C
 *
 * Blocks SIGINT, SIGTERM and SIGHUP, so that what the verb has begun (a half written file) is cleaned up when one of
 * them comes. They stay blocked afterwards: for most verbs all is done then, and a signal that comes while the process
 * exits would turn a success into a death. Other verbs allow them again.
 */

#include <stdint.h>
#include <systemd/sd-event.h>

#include "client/bus-client.h"

typedef struct Waiting {
        sd_event *event;
} Waiting;

/* Each reports errors. After a signal it is "given up", and STATUS_FAILED. */
ExitStatus waiting_init(Waiting *waiting);
void waiting_deinit(Waiting *waiting);
void waiting_allow_signals(void);

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
