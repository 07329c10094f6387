/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf identity: to be another user on one thread, as far as the kernel's word on what may be read goes
 *
 * A thread with a user's effective uid and gid, and without capabilities, may read as much of other processes as a
 * debugger of that user, and no more. Its real uid stays that of the probes, so that the user can neither signal nor
 * trace it.
 */

#include <sys/types.h>

/* Changes the calling thread alone, for good. Returns 0 or a negative errno; after an error the thread must not go
 * on. */
int perf_identity_assume(uid_t uid, gid_t gid);
