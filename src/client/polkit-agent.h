/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Polkit agent: asks for a password on a terminal
 *
 * A desktop has an agent of its own; a text console or ssh has none. pkttyagent(1) is an agent for terminals; it steps
 * back if there is another one already.
 */

#include <sys/types.h>

#include "client/invocation.h"
#include "client/process.h"

#define POLKIT_AGENT_WAIT_MS  2000 /* for it to be ready */
#define POLKIT_AGENT_GRACE_MS 500

/* Starts an agent if there is a user to ask: stdin is a terminal, the service is the system's, and we are not root
 * and may ask. Waits until polkit knows the agent. Returns its pid, or 0 if no agent was started, which is not an
 * error. */
pid_t polkit_agent_start(const Invocation *invocation);
