/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stack bounds: how far a stack can be read
 *
 * This is looked up in /proc/self/maps with system calls alone: it allocates nothing, and a thread cannot be cancelled
 * in it. Where that file cannot be read (in a sandbox), the bounds are those of the page that the stack pointer is in,
 * as that page certainly exists.
 */

#include <stddef.h>

#include "heap/thread-state.h"

/* Sets stack_start and stack_end so that `sp` lies between them. */
void stack_bounds_find(HeapThread *thread, uint64_t sp, char *buffer, size_t n_buffer);

/* Reads one line. Returns whether the address is in its mapping. */
bool stack_bounds_parse(HeapThread *thread, const char *line, uint64_t sp);
