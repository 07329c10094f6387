/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Peer: the walk of libdwfl (elfutils) along the same stack, where its headers are installed
 */

#include <stdbool.h>

#include "unwind/unwinder.h"

/* The program's own files are mapped as they were when the stack was taken; the arguments stay the caller's. Returns
 * false where there is no libdwfl, or where it refuses. */
bool unwind_peer_open(const UnwindRegisters *registers, const UnwindStack *stack);

/* How many frames it found. */
size_t unwind_peer_walk(void);

void unwind_peer_close(void);
