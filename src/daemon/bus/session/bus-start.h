/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * StartSession(): options, then config, then check, then polkit as often as need be, then the session
 */

#include <systemd/sd-bus.h>

#include "bus/link/bus.h"

int bus_method_start_session(sd_bus_message *message, void *userdata, sd_bus_error *error);
