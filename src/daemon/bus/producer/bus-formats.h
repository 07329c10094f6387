/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * GetEventFormats(): what the kernel's events are made of
 *
 * The formats are in tracefs, which only root may read, and are no secret. They are megabytes, so the service keeps
 * none: it asks the probes behind their own socket. As for ListEvents(), only those whom the probes may serve anyway
 * have them started for it, and nobody is prompted.
 */

#include "bus/object/bus-producer.h"

int bus_method_get_event_formats(sd_bus_message *message, void *userdata, sd_bus_error *error);
