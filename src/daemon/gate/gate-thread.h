/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The gate of the message bus, on a thread
 *
 * sd-bus waits for the message bus here and there: when it asks for a name, or who somebody is. So what is between them
 * must not depend on the main loop. And who has sent a descriptor has to be asked before it is taken.
 */

#include "gate/gate.h"

/* What the service says last has so long to leave. */
#define GATE_LINGER_MS 2000

typedef struct GateThread GateThread;

/* *ret_fd is for sd-bus. The functions of the options are called on the thread. */
int gate_thread_new(GateThread **ret, int *ret_fd, const GateOptions *options);

/* Waits until the last is sent: the service has closed its end before. */
GateThread *gate_thread_free(GateThread *thread);
DEFINE_CLEANUP(GateThread *, gate_thread_free)
