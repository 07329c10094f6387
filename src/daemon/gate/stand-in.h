/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stand-ins for descriptors that peers have passed
 *
 * sd-bus closes the descriptors of a message with the message, on the main thread, while the file system of a peer's
 * descriptor may never answer. So the gate keeps the real descriptor, and sd-bus gets the end of a pipe in its place.
 * Code that needs the real one takes it and owns it. If a stand-in is closed without that, which the gate sees by the
 * other end of the pipe, the real one goes to the closer.
 *
 * There is one table for the process, with a lock, as the message bus's gate has its own thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Descriptors of one user in messages that are still being handled. */
#define STAND_INS_PER_USER_MAX 64

/* Always takes `real` over, which a peer of the login user has passed. `watch_fd` is an epoll; it gets an event with
 * *ret_id as its data when the stand-in is closed everywhere. Returns 0, -EDQUOT beyond the limit, or another
 * negative errno. */
int stand_in_new(int *ret, int watch_fd, uid_t user, int real);

/* Whether the data of an event belongs to a stand-in; and how to handle that event. */
bool stand_in_is_id(uint64_t data);
void stand_in_gone(uint64_t id);

/* Takes the real descriptor, which is possible once. It is then the caller's, who gives it to the closer in the end;
 * the stand-in stays the message's. Returns 0, or -EBADF: there is no real descriptor. */
int stand_in_take(int *ret, int fd);
