/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Descriptors
 *
 * All descriptors made here are CLOEXEC; -1 means none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/macro.h"

/* Closes and returns -1; accepts -1. Keeps errno. */
int fd_close(int fd);

static inline void fd_closep(int *fd) {
        fd_close(*fd);
}

/* Makes a zeroed memfd of a fixed size, sealed against SHRINK, GROW and further seals, so that
 * neither side can take pages away under the other's mapping (SIGBUS). */
int fd_new_sealed_memfd(int *ret, const char *name, size_t n_bytes);

/* Checks that a descriptor from a peer is a memfd with those seals and of at least `n_bytes`.
 * Returns 0, or -EINVAL. */
int fd_check_sealed_memfd(int fd, size_t n_bytes);

/* Writes everything, over EINTR and short writes; blocking descriptors only. */
int fd_write_all(int fd, const void *data, size_t n_bytes);

/* Reads a whole small file into malloc'ed, NUL-terminated memory; `ret_n` may be NULL.
 * Fails with -EFBIG past `max_bytes`. */
int fd_read_file(char **ret, size_t *ret_n, int dir_fd, const char *path, size_t max_bytes);
int fd_read_all(char **ret, size_t *ret_n, int fd, size_t max_bytes);

/* Lets this process have as many descriptors as it may, for whoever needs one for each of many things. 0, or a
 * negative errno. */
int fd_raise_limit(void);

/* For a descriptor in a process that is not ours, whose program may close what it has not opened and be given its
 * number for another file. The mark is on the open file, costs one system call to look at, and survives dup() and
 * fork(). Where the kernel knows no such mark every open descriptor passes for marked. -1 is not. */
void fd_mark(int fd);
bool fd_is_marked(int fd);

/* Closes it if it still is the one that was marked. Returns -1. Async-signal-safe, and no cancellation point. */
int fd_close_marked(int fd);

/* Adds one to an eventfd, if it still is the one that was marked; false: it is not. The same holds for it. */
bool fd_ring_marked(int fd);

struct msghdr;

/* Of a message that recvmsg() has filled in: the descriptors that came with it, which are the caller's from now on.
 * Returns how many; those beyond `max` are not told, so there must be room for as many as the control data has. To be
 * called also where none is wanted: the kernel gives as many as there is room for, which after alignment or without
 * what was expected is more than was meant. */
size_t fd_list_received(struct msghdr *message, int *fds, size_t max);

/* The uid and pid of the peer of a connected AF_UNIX socket, as the kernel recorded them. */
int fd_peer_credentials(int fd, uid_t *ret_uid, pid_t *ret_pid);

/* A pidfd of that process, which no other one can take the place of. -1: the kernel has none to give (before Linux
 * 6.5), or the process is gone. */
int fd_peer_pidfd(int fd);
