/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Memory of our own, outside of the program's heap
 *
 * Pages use memory only once they are written to, so a table can have its maximum size from the beginning.
 */

#include <stddef.h>

/* Returns zeroed memory, or NULL if memory has run out. */
void *heap_memory_map(size_t n_bytes);
void heap_memory_unmap(void *memory, size_t n_bytes);

/* One page that reads as zeros in a child, however the child was forked. Returns NULL if memory has run out or the
 * kernel is too old. */
void *heap_memory_map_own(size_t n_bytes);
