/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Attach() and Detach(): whose a session is. */

#include "bus/object/bus-session.h"

/* bus-session-owner.c */
int bus_method_attach(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_detach(sd_bus_message *message, void *userdata, sd_bus_error *error);
