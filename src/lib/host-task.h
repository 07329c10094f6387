/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Host task: the calling thread's pid and tid as the service knows them
 *
 * In a pid namespace of its own (Flatpak, containers) a program's numbers are not those that the kernel's events,
 * the service and everybody else in the trace go by. A service outside the namespace passes a task link
 * (shared/pid-namespace.h). The first one is kept for as long as the process lives; other processes keep no such
 * descriptor.
 */

#include <stdbool.h>
#include <sys/types.h>

/* Takes a copy of the descriptor that a service passed; the original stays the caller's. On the private thread. */
void host_task_offer(int link_fd);

/* Looks up a thread by the tid that it knows itself. Any thread. Returns false if only that thread itself could tell
 * its tid outside (it is neither the caller nor the first thread of the process). No lock, and a system call only
 * where there is a link. */
bool host_task_get(pid_t own_tid, pid_t *ret_pid, pid_t *ret_tid);
