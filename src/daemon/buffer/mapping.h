/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Mapping: zeroed memory that costs nothing until it is written to
 *
 * It is anonymous, or a part of a memfd, which another process can map after this one was killed.
 */

#include <stddef.h>
#include <stdint.h>

/* Parts of a file begin at multiples of this, as no machine has larger pages. */
#define MAPPING_ALIGNMENT (64u << 10)

/* With fd -1, the memory is anonymous. Returns 0 or -ENOMEM. */
int mapping_new(void **ret, size_t n_bytes, int fd, uint64_t offset);
void mapping_free(void *memory, size_t n_bytes);

/* Replaces this mapping by another of the same size, at the same address, so pointers into it stay valid and now
 * point to the new memory. Returns 0, or -ENOMEM, which leaves both mappings as they were. */
int mapping_replace(void *memory, void *by, size_t n_bytes);

/* For memory that will be filled: most of the cost is faulting it in page by page. */
void mapping_advise(void *memory, size_t n_bytes);
