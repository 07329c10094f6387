/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session choice: the session that a verb is about
 */

#include "client/bus-client.h"

#define FLIGHT_RECORDER_NAME "flight-recorder"

/* Finds the session with this name. Without a name (NULL), it is our own flight recorder: the session of that name,
 * or else our only running session. If that is ambiguous, reports the choices. */
ExitStatus session_choose(const BusClient *client, const char *name, char **ret_path);
