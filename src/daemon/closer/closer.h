/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Closer: closes descriptors that peers have passed, on threads
 *
 * To close a file is to ask its file system, and that may be a program of the user who passed it (FUSE), or a server
 * that is away. It may then never answer, and nothing interrupts the wait. The last close of a TCP socket may wait for
 * its other side (SO_LINGER), also where the kernel does it for a descriptor that nobody has received. So no descriptor
 * of a peer is closed on the main thread, nor on any other that serves more than one user: each login user has at most
 * one thread for what it has passed, and one for sockets with such things in them, and they exist only as long as there
 * are any. One that hangs holds up its own user's descriptors and nobody else's.
 *
 * A reader of what a peer sends must have room for all descriptors that a message can have, or the kernel closes what
 * does not fit on the thread that reads. closer_is_full() is asked before that.
 *
 * From any thread. No function waits.
 */

#include <stdbool.h>
#include <sys/types.h>

/* Of one user; with so many nothing more is taken from it. */
#define CLOSER_PENDING_MAX         64
#define CLOSER_SOCKETS_PENDING_MAX 1024

#define CLOSER_MESSAGE_FDS 253 /* the kernel's SCM_MAX_FD */

/* Takes the descriptor over; -1 is none. */
void closer_close(uid_t user, int fd);

/* Likewise, and gives -1. */
static inline int closer_take(uid_t user, int fd) {
        closer_close(user, fd);
        return -1;
}

/* Ends the connection of a stream socket at once, and closes it: on a thread, if its peer has sent what nobody has
 * read. So it must have left every epoll. */
void closer_close_socket(uid_t user, int fd);

/* Whether so many of the user's descriptors wait that it must pass no more: a connection that does is broken, and a
 * new one is refused. */
bool closer_is_full(uid_t user);

/* For tests: what to close with, NULL: close(2). Returns once the threads of before have ended. */
void closer_replace(int (*close_fd)(int fd));
