/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Acceptor: takes connections off listening sockets, on a thread
 *
 * A program that connects without waiting, as GLib does, fails when the kernel's queue of the listening socket is full.
 * So the queue must be emptied faster than one user can fill it, whatever the main loop does. The thread accepts
 * connections as they come and closes those whose peers have already gone, or whose users have too many
 * (accept-queue.h). It passes the others to the main loop, one user after the other.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "accept/accept-queue.h"
#include "shared/identity.h"
#include "shared/macro.h"

#define ACCEPTOR_SOCKETS_MAX 16
#define ACCEPTOR_BURST       64 /* connections from one socket, before the others have their turn */
#define ACCEPTOR_BACKLOG     4096

typedef struct Acceptor Acceptor;

typedef struct AcceptorOptions {
        /* The login user of a peer. Called on the thread. */
        uid_t (*user_of)(void *userdata, const Identity *identity);
        void *userdata;
} AcceptorOptions;

int acceptor_new(Acceptor **ret, const AcceptorOptions *options);
/* Connections that wait are closed. */
Acceptor *acceptor_free(Acceptor *acceptor);
DEFINE_CLEANUP(Acceptor *, acceptor_free)

/* Adds a listening socket, which stays the caller's and must outlive the acceptor. Not while the thread runs.
 * Returns 0, -E2BIG or another negative errno. */
int acceptor_add(Acceptor *acceptor, int fd, int kind);

/* Starts and stops the thread. Stopping waits for the thread, which takes no longer than accepting what is there.
 * Either may be called in any state. */
int acceptor_start(Acceptor *acceptor);
void acceptor_stop(Acceptor *acceptor);

/* To be polled for input: then a connection can be served. */
int acceptor_fd(const Acceptor *acceptor);
/* Whether a connection can be served now, or may turn out to. */
void acceptor_acknowledge(Acceptor *acceptor);
void acceptor_remind(Acceptor *acceptor);

/* The next connection to be served; its descriptor is the caller's. Returns false when none waits; acceptor_fd()
 * becomes readable when one does. */
bool acceptor_take(Acceptor *acceptor, Accepted *ret);

/* After the end: the connections that wait. */
bool acceptor_take_waiting(Acceptor *acceptor, Accepted *ret);
/* Once the thread is stopped: first the connections that wait, then those that the kernel has. */
bool acceptor_take_any(Acceptor *acceptor, Accepted *ret);

/* The service has refused a connection of this user and would refuse more. */
void acceptor_refuse(Acceptor *acceptor, uid_t user);
