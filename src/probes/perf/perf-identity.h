/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf identity: to be another user on one thread, as far as the kernel's word on what may be read goes
 *
 * A thread that has the effective user and group of somebody, and no capabilities, may read of other processes what a
 * debugger of that user may, and no more. Its real user stays ours, so that nobody can signal or trace it.
 */

#include <sys/types.h>

/* Of the calling thread alone, for good. 0 or a negative errno; then the thread must not go on. */
int perf_identity_assume(uid_t uid, gid_t gid);
