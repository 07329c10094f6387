/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bell: wakes one producer when a request waits in its shared memory (SmbRequest in smb/smb.h)
 *
 * Nothing that a producer does with its side can make the service wait.
 */

/* Makes both sides: `ret` is the service's, `ret_theirs` is to be passed to the producer and closed. Returns 0 or a
 * negative errno. */
int bell_open(int *ret, int *ret_theirs);

void bell_ring(int fd);
