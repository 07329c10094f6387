/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stand-ins for descriptors that peers have passed
 *
 * sd-bus closes the descriptors of a message with the message, on the main thread, where the file system of a peer's
 * descriptor may never answer. So the gate keeps that one, and sd-bus gets the end of a pipe in its place. Whoever
 * needs the real one takes it, and is its owner; the real one of a stand-in that is closed without that goes to the
 * closer. The gate sees that by the other end of the pipe.
 *
 * There is one table for the process, with a lock over it: the message bus's gate has a thread of its own.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one user, in messages that are not done with yet. */
#define STAND_INS_PER_USER_MAX 64

/* Takes `real` over, always, from a peer of the login user. `watch_fd` is an epoll, which gets an event with *ret_id as
 * its data when nobody has the stand-in any more. 0, -EDQUOT past the limit, or another negative errno. */
int stand_in_new(int *ret, int watch_fd, uid_t user, int real);

/* Whether the data of an event is a stand-in's, and what to do then. */
bool stand_in_is_id(uint64_t data);
void stand_in_gone(uint64_t id);

/* The real one, once; from then on the caller's, to be given to the closer in the end. The stand-in stays the
 * message's. 0, or -EBADF: it stands for nothing. */
int stand_in_take(int *ret, int fd);
