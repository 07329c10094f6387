/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Triggers: names that sessions wait for
 */

#include <stdint.h>

#include "client/bus-client.h"

#define TRIGGERS_MAX 64 /* on a command line */

/* Whether these can be names at all; says so. NULL-terminated. */
ExitStatus triggers_check(char *const *names);

/* Tells the service that they happened, if it runs: nobody waits otherwise. Prints how many sessions they reached;
 * STATUS_NOT_FOUND: none. Says what is wrong. */
ExitStatus triggers_send(const Invocation *invocation, char *const *names);
