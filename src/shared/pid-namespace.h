/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Pid namespace: how a program in a sandbox and a service outside of it agree on who is who
 *
 * Inside, getpid() and gettid() return the namespace's own numbers, which nobody else in a trace uses. Where a proxy
 * stands before the message bus, the bus attests the proxy. Two small things help, and neither lets the sandbox see
 * more than itself:
 *
 * A proof is one end of a socket pair, whose other end a process has named with agreed words. The kernel says which
 * process made the pair, in the reader's numbers. The peer of any other socket, or a pidfd, can be obtained without
 * the process wanting it. A proof cannot: only a process that has the other end can name it, and it does so for this
 * purpose alone.
 *
 * A task link is the reader's own /proc/thread-self, opened as a link and not followed. To the kernel its text is the
 * asking thread's pid and tid as that /proc numbers them. Nothing can be opened through it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/identity.h"

#define PID_NAMESPACE_INITIAL UINT64_C(0xEFFFFFFC) /* the first one's inode on every Linux */
#define PID_PROOF_BYTES_MAX   64                   /* of the words */

/* The number of the caller's own pid namespace, which is the same for all observers. Returns 0 or a negative errno
 * (no /proc). */
int pid_namespace_get(uint64_t *ret);

/* Whether the caller's /proc has the numbers that the kernel's own events have: those of the first namespace. In
 * another namespace the same numbers mean other processes, and a wrong name is worse than none. Without /proc,
 * true. */
bool pid_namespace_is_initial(void);

/* Makes a proof that this process said `words`; the descriptor is non-blocking. Returns 0 or a negative errno. */
int pid_proof_new(int *ret, const char *words);

/* Tells who said `words`. The descriptor may be anything that a peer has sent, and nobody else who has it can make
 * this wait. Returns 0; -EBADMSG if it proves nothing, or a process that the reader cannot see; another negative
 * errno. */
int pid_proof_take(Identity *ret, int fd, const char *words);

/* Returns 0 or a negative errno. */
int task_link_open(int *ret);

/* Reads the calling thread's pid and tid through a link that task_link_open() made in another process. Returns 0;
 * -EBADMSG if the descriptor is no such link, or its owner cannot see the thread; another negative errno. One system
 * call; async-signal-safe. */
int task_link_read(int fd, pid_t *ret_pid, pid_t *ret_tid);
