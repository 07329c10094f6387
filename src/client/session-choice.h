/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Session choice: the session that a verb is about
 */

#include "client/bus-client.h"

#define FLIGHT_RECORDER_NAME "flight-recorder"

/* The one that was named; without a name (NULL) our own flight recorder: the session of that name, or else the only
 * one of ours that runs. Says what there is to choose from when that is not clear. */
ExitStatus session_choose(const BusClient *client, const char *name, char **ret_path);
