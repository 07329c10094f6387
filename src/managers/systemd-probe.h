/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * org.freedesktop.systemd: what a manager starts and stops, what waits for what, and how the boot went
 */

#include "host/probe.h"

extern const ProbeOps systemd_system_probe_ops; /* the machine's manager, over the system bus */
extern const ProbeOps systemd_user_probe_ops;   /* the user's, over the session bus */
