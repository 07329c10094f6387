/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Closer: closes descriptors that peers have passed, on threads
 *
 * To close a file is to ask its file system, and that may be a program of the user who passed it (FUSE), or a server
 * that is away. It may then never answer, and nothing interrupts the wait. So no descriptor of a peer is closed on the
 * main thread: each login user has at most one thread, which closes one descriptor after the other, and exists only as
 * long as there are any. One that hangs holds up its own user's descriptors and nobody else's.
 *
 * From any thread. No function waits.
 */

#include <stdbool.h>
#include <sys/types.h>

/* Of one user; with so many nothing more is taken from it. */
#define CLOSER_PENDING_MAX 64

/* Takes the descriptor over; -1 is none. */
void closer_close(uid_t user, int fd);

/* Likewise, and gives -1. */
static inline int closer_take(uid_t user, int fd) {
        closer_close(user, fd);
        return -1;
}

/* Closes a connected socket at once, and on a thread the descriptors that its peer has sent and nobody has read. */
void closer_close_socket(uid_t user, int fd);

/* Whether so many of the user's descriptors wait that it must pass no more: a connection that does is broken, and a
 * new one is refused. */
bool closer_is_full(uid_t user);

/* For tests: what to close with, NULL: close(2). Returns once the threads of before have ended. */
void closer_replace(int (*close_fd)(int fd));
