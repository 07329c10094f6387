/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Denial: why the kernel refused to open a file, and what the user can do
 *
 * The cause is a capability that this program lacks, the kernel's lockdown, a read-only mount, or, when none of these
 * fits, a security module. It is named as precisely as the machine reveals it.
 *
 * `root` is the machine's "/", or a tree of fixtures: proc/self/status, sys/kernel/security.
 */

#include <linux/capability.h>
#include <stdbool.h>

#define DENIAL_BYTES 256

/* Whether this program has the capability in effect. */
bool denial_has_capability(int root, int capability);

/* Whether the kernel is locked down for confidentiality, which denies tracefs to every user. */
bool denial_is_locked_down(int root);

/* Writes the end of a sentence that begins with the file's name: ": Permission denied; …". `capability` is the one
 * that would allow the access. */
void denial_explain(char ret[static DENIAL_BYTES], int root, int error, int capability);

/* Whether the kernel would grant this program, with its capabilities, access to a file (`mode`: R_OK, …): 0 or a
 * negative errno. Before Linux 5.8 there is no way to ask, and the permissions alone would deny what a capability
 * allows, so the answer is 0 there. */
int denial_check(int dir, const char *path, int mode);

/* Opens "/" for lookups; the caller closes it. Returns a descriptor or a negative errno. */
int denial_open_root(void);
