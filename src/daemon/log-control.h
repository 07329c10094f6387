/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * org.freedesktop.LogControl1
 *
 * systemd's interface to a service's log: "systemctl service-log-level desktraced debug". Anyone may read it; only
 * root and the service's own user may change it.
 */

#include <systemd/sd-bus.h>

#include "bus/link/bus.h"

int log_control_serve(Bus *bus, sd_bus *message_bus);
