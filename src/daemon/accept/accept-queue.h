/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Accept queue: accepted connections that wait to be served, taken in turn of their login users
 *
 * However many connections one user makes, the next user's turn comes next. A user with more connections waiting than
 * allowed, or one that the service has just refused, is refused at once, before the acceptor looks up which login user
 * a uid belongs to.
 *
 * Sans-I/O: `now` is an argument in MONOTONIC nanoseconds, and refused connections are handed back to be closed. There
 * is no lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/list.h"

/* As many connections as a user may have altogether, so that all of a user's programs can connect at once. Root may
 * have all of them. */
#define ACCEPT_WAITING_PER_USER_MAX 2048
#define ACCEPT_WAITING_MAX          8192

/* Connections of one user that are served at once, and then per second. Root has no such limit. */
#define ACCEPT_SERVED_MAX  2048
#define ACCEPT_SERVED_RATE 256

/* How long a user with too many waiting connections is refused. */
#define ACCEPT_REFUSE_NS (UINT64_C(100) * 1000000)

typedef struct Accepted {
        int fd;
        int kind; /* the caller's data of the socket that the connection came from */
        uid_t user;
} Accepted;

#define ACCEPT_UIDS_KNOWN 256

typedef struct AcceptQueue {
        List users; /* AcceptUser: all that are remembered */
        List waiting; /* AcceptUser, of their `turn`: those with connections, whose turn is next is first */
        size_t n; /* connections */
        struct {
                uid_t uid, user;
                bool is_known;
        } known[ACCEPT_UIDS_KNOWN]; /* the login users of uids that have connected recently */
} AcceptQueue;

void accept_queue_init(AcceptQueue *queue);
/* No connection may wait in the queue. */
void accept_queue_deinit(AcceptQueue *queue);

/* Whether a connection of this uid would be refused now, as far as that is known without looking up its login user. */
bool accept_queue_refuses(const AcceptQueue *queue, uid_t uid, uint64_t now);

/* Queues the connection of a peer with that uid. Returns false if a connection has to go, which is not necessarily
 * the new one: it is returned in *ret_refused. */
bool accept_queue_put(AcceptQueue *queue,
                      const Accepted *accepted,
                      uid_t uid,
                      uint64_t now,
                      Accepted *ret_refused);

/* The next connection to be served now. Returns false if there is none. */
bool accept_queue_take(AcceptQueue *queue, Accepted *ret, uint64_t now);
/* The next connection, even if its user's allowance is used up: for the end of the process. */
bool accept_queue_take_any(AcceptQueue *queue, Accepted *ret);

/* When the next connection can be served, which may be in the past. UINT64_MAX: nothing waits. */
uint64_t accept_queue_next_at(const AcceptQueue *queue);

/* The service has refused a connection of this user and would refuse more. That includes those that wait, which
 * accept_queue_take() then returns. */
void accept_queue_refuse(AcceptQueue *queue, uid_t user, uint64_t now);
bool accept_queue_take_refused(AcceptQueue *queue, Accepted *ret, uint64_t now);
