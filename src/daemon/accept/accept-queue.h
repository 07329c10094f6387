/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Accept queue: connections that were accepted and wait to be served, in turn of their login users
 *
 * However many connections one user makes, another one's is next. A user that makes more than it may have waiting, or
 * that the service has just refused one, is refused at once: whoever accepts need not even look up who it is.
 *
 * Sans-I/O: `now` is an argument, MONOTONIC nanoseconds; what is refused is handed back to be closed. No lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/list.h"

/* As many as a user may have in all, for a user's programs that all connect at once. Root may have all of them. */
#define ACCEPT_WAITING_PER_USER_MAX 2048
#define ACCEPT_WAITING_MAX          8192

/* Served of one user: so many at once, and from then on so many a second. Not of root. */
#define ACCEPT_SERVED_MAX  2048
#define ACCEPT_SERVED_RATE 256

/* How long a user is refused that has more than it may have. */
#define ACCEPT_REFUSE_NS (UINT64_C(100) * 1000000)

typedef struct Accepted {
        int fd;
        int kind; /* the caller's: of the socket that it came from */
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
        } known[ACCEPT_UIDS_KNOWN]; /* the users of uids that have connected lately */
} AcceptQueue;

void accept_queue_init(AcceptQueue *queue);
/* Nothing waits any more. */
void accept_queue_deinit(AcceptQueue *queue);

/* Whether nobody with that uid is taken now, as far as is known without looking up whose it is. */
bool accept_queue_refuses(const AcceptQueue *queue, uid_t uid, uint64_t now);

/* Takes the connection of a peer with that uid. Returns false if one has to go: which is in *ret_refused, and may be
 * another one. */
bool accept_queue_put(AcceptQueue *queue,
                      const Accepted *accepted,
                      uid_t uid,
                      uint64_t now,
                      Accepted *ret_refused);

/* The next one to be served now, or false. */
bool accept_queue_take(AcceptQueue *queue, Accepted *ret, uint64_t now);
/* The next one whether its user was served too many or not: at the end. */
bool accept_queue_take_any(AcceptQueue *queue, Accepted *ret);

/* When there is one to be served: now or before it, or later; UINT64_MAX: nothing waits. */
uint64_t accept_queue_next_at(const AcceptQueue *queue);

/* The service has refused one of this user, and would refuse more: those that wait, too, which are to be taken then. */
void accept_queue_refuse(AcceptQueue *queue, uid_t user, uint64_t now);
bool accept_queue_take_refused(AcceptQueue *queue, Accepted *ret, uint64_t now);
