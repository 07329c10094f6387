/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Denial: who says no when the kernel refuses to open a file, and what to do
 *
 * A capability that this program lacks, the kernel's lockdown, a mount that is read-only, or, when none of these can be
 * it, a security module. As far as the machine lets us know.
 *
 * `root` is the machine's "/", or a tree of fixtures: proc/self/status, sys/kernel/security.
 */

#include <linux/capability.h>
#include <stdbool.h>

#define DENIAL_BYTES 256

/* Whether this program has the capability in effect. */
bool denial_has_capability(int root, int capability);

/* Whether the kernel is locked down for confidentiality, which closes tracefs to everybody. */
bool denial_is_locked_down(int root);

/* A clause for the end of a sentence that names the file: ": Permission denied; …". `capability` would let us in. */
void denial_explain(char ret[static DENIAL_BYTES], int root, int error, int capability);

/* Whether the kernel would let this program, with its capabilities, into a file (R_OK, …): 0 or a negative errno.
 * Before Linux 5.8 it cannot be asked, and the permissions alone would say no where a capability says yes: 0. */
int denial_check(int dir, const char *path, int mode);

/* "/", for lookups; the caller closes it. A descriptor or a negative errno. */
int denial_open_root(void);
