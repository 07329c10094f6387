/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Activation: starts producers that are not running
 *
 * A producer is started by its bus name (the bus daemon does it), by its unit (systemd does it), or by a connection to
 * its socket, on which systemd listens and to which only those may connect who may start it. The core is told the
 * reason of a failure. Success needs no message: the producer registers.
 */

#include <systemd/sd-bus.h>

#include "config.h"
#include "core/service.h"
#include "shared/list.h"

typedef struct Activator {
        Service *service;
        sd_event *event;
        sd_bus *bus; /* NULL: nothing can be started */
        const DaemonConfig *config;
        List activations; /* under way, or failed and not told yet */
} Activator;

void activator_init(Activator *activator,
                    Service *service,
                    sd_event *event,
                    sd_bus *bus,
                    const DaemonConfig *config);
void activator_deinit(Activator *activator);

/* ServiceOps.activate: called from inside the core, so failures wait for activator_settle(). */
void activator_start(Activator *activator, size_t index);
void activator_settle(Activator *activator, uint64_t now);
