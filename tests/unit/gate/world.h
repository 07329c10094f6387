/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A gate with a peer at one end and the service at the other, both of plain bytes. No threads: turns are explicit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gate/gate.h"

#define ALICE             1000
#define ALICE_SUBORDINATE 1001 /* whose login user is Alice */
#define GUID              "0123456789abcdef0123456789abcdef"

typedef struct GateWorld {
        Gates *gates;
        Gate *gate;
        int peer, service; /* nobody waits at them */
        unsigned n_passed;
        const char *known;     /* the sender that is known when the gate asks, as ALICE */
        bool answers_later;    /* the gate is told nothing yet */
        GateQuestion question; /* which it has asked then */
} GateWorld;

/* A client's gate before the handshake, after it, and the message bus's after it. */
void gate_world_new(GateWorld *world, Gates *gates);
void gate_world_begin(GateWorld *world, Gates *gates);
void gate_world_begin_subordinate(GateWorld *world, Gates *gates); /* with another uid of Alice's */
void gate_world_begin_bus(GateWorld *world);
void gate_world_end(GateWorld *world); /* frees the gates, too */
void gate_world_leave(GateWorld *world);

/* Until nothing more happens. */
void gate_world_run(GateWorld *world);

/* A message with a body of that many bytes; returns how many bytes it has in all. */
size_t make_message(uint8_t *ret, size_t n_body, unsigned n_fds, const char *sender);

void send_all(int fd, const void *data, size_t n);
void send_with_fds(int fd, const void *data, size_t n, const int *fds, size_t n_fds);
/* What is there; *ret_n_fds may be NULL when there are none. */
size_t receive(int fd, void *data, size_t n, int *fds, size_t *ret_n_fds);
/* The other end has nothing more to say, ever. */
bool has_ended(int fd);
bool is_same_file(int a, int b);
int some_file(void);
