/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Clone(): a session that is a snapshot of another one. */

#include "bus/session/bus-session.h"

int bus_method_clone(sd_bus_message *message, void *userdata, sd_bus_error *error);
void bus_clone_answer(SessionWaiter *waiter);
