/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * D-Bus probe: data source org.freedesktop.dbus
 */

#include "host/probe.h"

extern const ProbeOps dbus_probe_ops;
