/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Triggers on the bus: Manager.ActivateTriggers()
 */

#include <systemd/sd-bus.h>

#define TRIGGER_NAMES_MAX 64 /* of one call */

int bus_method_activate_triggers(sd_bus_message *message, void *userdata, sd_bus_error *error);
