/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Memory of our own, which is not the program's heap
 *
 * Pages are there once they are written to, so a table can be as large as its limit from the beginning.
 */

#include <stddef.h>

/* Zeros; NULL: none left. */
void *heap_memory_map(size_t n_bytes);
void heap_memory_unmap(void *memory, size_t n_bytes);

/* One page that is zero in a forked child, however that was forked. NULL: no memory, or an old kernel. */
void *heap_memory_map_own(size_t n_bytes);
