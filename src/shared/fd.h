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

/* Makes a memfd that can only grow: it is sealed against SHRINK, and against losing that seal. */
int fd_new_growing_memfd(int *ret, const char *name);

/* Returns 0 and the size of a memfd that cannot shrink, or -EINVAL if it is no such memfd. */
int fd_check_growing_memfd(int fd, uint64_t *ret_n_bytes);
int fd_grow_memfd(int fd, uint64_t n_bytes);

/* Gives back the memory of a part of a memfd, which then reads as zeros. */
void fd_punch_memfd(int fd, uint64_t offset, uint64_t n_bytes);

/* Writes everything, despite EINTR and short writes; for blocking descriptors only. */
int fd_write_all(int fd, const void *data, size_t n_bytes);

/* Reads a whole small file into malloc'ed, NUL-terminated memory; `ret_n` may be NULL.
 * Fails with -EFBIG past `max_bytes`. */
int fd_read_file(char **ret, size_t *ret_n, int dir_fd, const char *path, size_t max_bytes);
int fd_read_all(char **ret, size_t *ret_n, int fd, size_t max_bytes);

/* Raises the limit of descriptors as far as this process may, for programs that keep many files open. Returns 0, or
 * a negative errno. */
int fd_raise_limit(void);

/* Marks a descriptor in a process that is not ours: the program may close descriptors that it has not opened, and
 * get the number again for another file. The mark belongs to the open file, costs one system call to check, and
 * survives dup() and fork(). On kernels without such marks every open descriptor counts as marked; -1 never does. */
void fd_mark(int fd);
bool fd_is_marked(int fd);

/* Closes the descriptor if it is still the marked one. Returns -1. Async-signal-safe, and no cancellation point. */
int fd_close_marked(int fd);

/* Adds one to an eventfd if it is still the marked one; false if it is not. Async-signal-safe, and no cancellation
 * point. */
bool fd_ring_marked(int fd);

struct msghdr;

/* Collects the descriptors of a message that recvmsg() has filled in; from now on they are the caller's. Returns how
 * many there are; any beyond `max` are not returned, so there must be room for as many as the control data can hold.
 * Call it even where no descriptors are expected: the kernel passes as many as there is room for, which, after
 * alignment or without the expected data, is more than intended. */
size_t fd_list_received(struct msghdr *message, int *fds, size_t max);

/* The uid and pid of the peer of a connected AF_UNIX socket, as the kernel recorded them. */
int fd_peer_credentials(int fd, uid_t *ret_uid, pid_t *ret_pid);

/* A pidfd of the peer's process, which no other process can replace. -1: the kernel has none to give (before Linux
 * 6.5), or the process has ended. */
int fd_peer_pidfd(int fd);
