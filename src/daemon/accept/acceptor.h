/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Acceptor: takes connections off listening sockets, on a thread
 *
 * Programs that connect without waiting, as GLib's do, fail when the kernel's queue of a listening socket is full. So
 * it must be emptied faster than one user can fill it, whatever the main loop does: connections are accepted as they
 * come, those that are gone again or that their user has too many of (accept-queue.h) are closed on the spot, and the
 * main loop is given the others, of one user after the other.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "accept/accept-queue.h"
#include "shared/identity.h"
#include "shared/macro.h"

#define ACCEPTOR_SOCKETS_MAX 16
#define ACCEPTOR_BURST       64 /* from one socket, before the others have their turn */
#define ACCEPTOR_BACKLOG     4096

typedef struct Acceptor Acceptor;

typedef struct AcceptorOptions {
        /* The login user of a peer. Called on the thread. */
        uid_t (*user_of)(void *userdata, const Identity *identity);
        void *userdata;
} AcceptorOptions;

int acceptor_new(Acceptor **ret, const AcceptorOptions *options);
/* What waits is closed. */
Acceptor *acceptor_free(Acceptor *acceptor);
DEFINE_CLEANUP(Acceptor *, acceptor_free)

/* A listening socket, which stays the caller's, until the acceptor is freed. Not while it runs. 0, -E2BIG or another
 * negative errno. */
int acceptor_add(Acceptor *acceptor, int fd, int kind);

/* The thread. To stop waits for it, which takes no longer than it takes to accept what is there. Either may be called
 * in any state. */
int acceptor_start(Acceptor *acceptor);
void acceptor_stop(Acceptor *acceptor);

/* To be polled for input: there is one to be served. */
int acceptor_fd(const Acceptor *acceptor);
/* That is known now; or may be so still. */
void acceptor_acknowledge(Acceptor *acceptor);
void acceptor_remind(Acceptor *acceptor);

/* The next one to be served, whose descriptor is the caller's. false: none is now; acceptor_fd() will tell. */
bool acceptor_take(Acceptor *acceptor, Accepted *ret);

/* Once it is stopped: what waits, and then one after the other what the kernel has. */
bool acceptor_take_any(Acceptor *acceptor, Accepted *ret);

/* The service has refused one of this user: more would be refused as well. */
void acceptor_refuse(Acceptor *acceptor, uid_t user);
