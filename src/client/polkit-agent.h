/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Polkit agent: who asks for a password on a terminal
 *
 * A desktop has an agent of its own, a text console or ssh has none. pkttyagent(1) is one for a terminal; it steps
 * back where there is another already.
 */

#include <sys/types.h>

#include "client/invocation.h"
#include "client/process.h"

#define POLKIT_AGENT_WAIT_MS  2000 /* for it to be ready */
#define POLKIT_AGENT_GRACE_MS 500

/* Starts one if there is somebody to ask: stdin is a terminal, the service is the system's, we are not root and may
 * ask. Waits until polkit knows it. Returns its pid, or 0 when there is none; that is no error. */
pid_t polkit_agent_start(const Invocation *invocation);
