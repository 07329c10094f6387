/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Closer: closes descriptors that peers have passed, on threads
 *
 * Closing a file asks its file system, which may be a program of the user who passed the descriptor (FUSE), or a server
 * that is away. It may never answer, and nothing interrupts the wait. The last close of a TCP socket may wait for the
 * other side (SO_LINGER), even if the kernel does it for a descriptor that nobody has received. So no descriptor of a
 * peer is closed on the main thread, nor on any other thread that serves more than one user. Each login user has at
 * most one thread for the descriptors it has passed and one for sockets with such descriptors in them, and only while
 * there are any. A descriptor that hangs delays only those of its own user.
 *
 * A reader of a peer's messages must have room for all descriptors that a message can carry: otherwise the kernel
 * closes those that do not fit, on the reading thread. closer_is_full() is asked before reading.
 *
 * All functions may be called from any thread. None of them waits.
 */

#include <stdbool.h>
#include <sys/types.h>

/* Descriptors of one user that wait; beyond this limit nothing more is read from the user's peers. */
#define CLOSER_PENDING_MAX         64
#define CLOSER_SOCKETS_PENDING_MAX 1024

#define CLOSER_MESSAGE_FDS 253 /* the kernel's SCM_MAX_FD */

/* Takes the descriptor over; -1 is ignored. */
void closer_close(uid_t user, int fd);

/* Likewise, and gives -1. */
static inline int closer_take(uid_t user, int fd) {
        closer_close(user, fd);
        return -1;
}

/* Ends the connection of a stream socket at once, and closes it: on a thread, if the peer has sent something that
 * was not read. The socket must have been removed from every epoll. */
void closer_close_socket(uid_t user, int fd);

/* Whether the user's waiting descriptors are at the limit, so that it may pass no more. A connection that passes one
 * nevertheless is broken, and a new connection is refused. */
bool closer_is_full(uid_t user);

/* Whether a descriptor of anybody's waits to be closed. A process in which a close hangs cannot end, not even by
 * SIGKILL, until that file system answers. */
bool closer_has_pending(void);

/* Says in the log whose these are. */
void closer_log_pending(void);

/* For tests: the function that closes, NULL for close(2). Returns once all earlier threads have ended. */
void closer_replace(int (*close_fd)(int fd));
