/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The gate of the message bus, and a thread for it
 *
 * The main loop gives the gate its turns: a thread between the two would cost each message two switches. But sd-bus
 * waits for the message bus here and there, when it asks for a name or says the last. The gate must not depend on the
 * loop then, so for that time the thread has it.
 *
 * Otherwise the thread does what may take long: the message bus has to be asked who sent a descriptor before it is
 * taken, and to drop a descriptor is to close it. The message waits for that, and so do those behind it.
 */

#include "gate/gate.h"

/* What the service says last has so long to leave. */
#define GATE_LINGER_MS 2000

typedef struct GateThread GateThread;

typedef struct GateThreadOptions {
        int fd; /* of the message bus; taken over, always */
        /* The login user of a sender, or a negative errno: it is gone. On the thread; may wait. */
        int (*find_user)(void *userdata, const char *sender, uid_t *ret);
        void *userdata;
} GateThreadOptions;

/* *ret_fd is for sd-bus. The thread has the gate. */
int gate_thread_new(GateThread **ret, int *ret_fd, const GateThreadOptions *options);

/* Waits until the last is sent: the service has closed its end before. */
GateThread *gate_thread_free(GateThread *thread);
DEFINE_CLEANUP(GateThread *, gate_thread_free)

/* To the caller, who calls what follows until he gives it back. */
void gate_thread_hand_over(GateThread *thread);
void gate_thread_take_back(GateThread *thread);

/* To be polled for input; gate_thread_turn() does what there is to do, and says whether there is more at once. */
int gate_thread_fd(const GateThread *thread);
bool gate_thread_turn(GateThread *thread);
/* sd-bus has said something: it goes out now rather than at the next turn. */
void gate_thread_pump(GateThread *thread);
