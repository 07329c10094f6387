/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Triggers: names of events that sessions listen for
 */

#include <stdint.h>

#include "client/bus-client.h"

#define TRIGGERS_MAX 64 /* on a command line */

/* Whether these are valid names; reports those that are not. NULL-terminated. */
ExitStatus triggers_check(char *const *names);

/* Sends the triggers to the service if it runs; otherwise no session can be waiting. Prints how many sessions they
 * reached, and returns STATUS_NOT_FOUND if there was none. Reports errors. */
ExitStatus triggers_send(const Invocation *invocation, char *const *names);
