/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stack bounds: as far as a stack can be read
 *
 * From /proc/self/maps, with system calls alone: no allocation, and nothing that a thread can be cancelled in.
 * Where that file cannot be read (a sandbox) it is the page that the stack pointer is in, as that is certainly
 * there.
 */

#include <stddef.h>

#include "heap/thread-state.h"

/* Sets stack_start and stack_end, which have `sp` between them. */
void stack_bounds_find(HeapThread *thread, uint64_t sp, char *buffer, size_t n_buffer);

/* One line: whether the address is in its mapping. */
bool stack_bounds_parse(HeapThread *thread, const char *line, uint64_t sp);
