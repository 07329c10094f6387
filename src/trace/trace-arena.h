/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace arena: bytes that are kept for later and addressed by number
 */

#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

typedef struct TraceArena {
        uint8_t **blocks;
        size_t n_blocks, n_allocated;
        size_t n_used; /* bytes used in the last block */
        uint64_t n_bytes;
} TraceArena;

void trace_arena_deinit(TraceArena *arena);

/* Copies the bytes. Returns 0, -ENOMEM, or -E2BIG if the arena is full. */
int trace_arena_add(TraceArena *arena, const void *data, size_t n, uint64_t *ret_place);

/* The arena stores the number of bytes with them. */
const uint8_t *trace_arena_at(const TraceArena *arena, uint64_t place, size_t *ret_n);
