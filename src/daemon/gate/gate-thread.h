/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The gate of the message bus, and a thread for it
 *
 * The main loop gives the gate its turns: with a thread in between, each message would cost two context switches. But
 * sd-bus blocks on the message bus now and then, when it requests a name or sends its last messages. The loop cannot
 * serve the gate then, so for that time the thread has it.
 *
 * Otherwise the thread does what may take long: it asks the message bus who has sent a descriptor, which must be known
 * before the descriptor is taken, and drops unwanted ones, which closes them. The message waits for that, and so do
 * those behind it.
 */

#include "gate/gate.h"

/* The time that the service's last messages have to be sent. */
#define GATE_LINGER_MS 2000

typedef struct GateThread GateThread;

typedef struct GateThreadOptions {
        int fd; /* the socket of the message bus; always taken over */
        /* The login user of a sender, or a negative errno: the sender has gone. Called on the thread; may block. */
        int (*find_user)(void *userdata, const char *sender, uid_t *ret);
        void *userdata;
} GateThreadOptions;

/* *ret_fd is for sd-bus. The thread has the gate. */
int gate_thread_new(GateThread **ret, int *ret_fd, const GateThreadOptions *options);

/* Waits until the last bytes are sent. The service must have closed its end before. */
GateThread *gate_thread_free(GateThread *thread);
DEFINE_CLEANUP(GateThread *, gate_thread_free)

/* Gives the gate to the caller, who alone may call the following functions until the gate is given back. */
void gate_thread_hand_over(GateThread *thread);
void gate_thread_take_back(GateThread *thread);

/* A descriptor to poll for input. gate_thread_turn() then does the work, and returns whether there is more to do
 * at once. */
int gate_thread_fd(const GateThread *thread);
bool gate_thread_turn(GateThread *thread);
/* sd-bus has sent something: it leaves now rather than at the next turn. */
void gate_thread_pump(GateThread *thread);
/* gate_refuse_replies() */
void gate_thread_refuse_replies(GateThread *thread, const GateRefusal *refusal);
/* gate_has_taken() */
bool gate_thread_has_taken(GateThread *thread);
/* How many bytes the message bus has not read (gate_n_unread()). */
size_t gate_thread_n_unread(const GateThread *thread);
