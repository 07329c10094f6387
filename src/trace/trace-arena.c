/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace arena: bytes that are kept for later and addressed by number */

#include <errno.h>
#include <string.h>

#include "trace/trace-arena.h"
#include "trace/trace-map.h"

#define BLOCK_BYTES (256u << 10)

void trace_arena_deinit(TraceArena *arena) {
        for (size_t i = 0; i < arena->n_blocks; i++)
                free(arena->blocks[i]);
        free(arena->blocks);
        *arena = (TraceArena){ 0 };
}

/* Data larger than a block gets a block to itself, and nothing is added to that. */
static int arena_grow(TraceArena *arena, size_t n) {
        uint8_t *block;

        if (arena->n_blocks == UINT32_MAX)
                return -E2BIG;
        if (trace_reserve((void **)&arena->blocks,
                          &arena->n_allocated,
                          arena->n_blocks + 1,
                          sizeof(*arena->blocks)))
                return -ENOMEM;
        block = malloc(MAX(n, (size_t)BLOCK_BYTES));
        if (!block)
                return -ENOMEM;
        arena->blocks[arena->n_blocks++] = block;
        arena->n_used = 0;
        arena->n_bytes += MAX(n, (size_t)BLOCK_BYTES);
        return 0;
}

int trace_arena_add(TraceArena *arena, const void *data, size_t n, uint64_t *ret_place) {
        uint32_t size = (uint32_t)n;
        uint8_t *at;
        int r;

        if (n > UINT32_MAX - sizeof(size))
                return -E2BIG;
        if (arena->n_blocks == 0 || arena->n_used + sizeof(size) + n > BLOCK_BYTES) {
                r = arena_grow(arena, sizeof(size) + n);
                if (r)
                        return r;
        }
        at = arena->blocks[arena->n_blocks - 1] + arena->n_used;
        memcpy(at, &size, sizeof(size));
        memcpy(at + sizeof(size), data, n);
        *ret_place = (uint64_t)(arena->n_blocks - 1) << 32 | arena->n_used;
        arena->n_used += sizeof(size) + n;
        return 0;
}

const uint8_t *trace_arena_at(const TraceArena *arena, uint64_t place, size_t *ret_n) {
        const uint8_t *at = arena->blocks[place >> 32] + (uint32_t)place;
        uint32_t size;

        memcpy(&size, at, sizeof(size));
        *ret_n = size;
        return at + sizeof(size);
}
