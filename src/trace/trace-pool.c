/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace pool: stores each text once, and gives it a number */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/siphash.h"
#include "shared/utf8.h"
#include "trace/trace-pool.h"

#define BLOCK_BYTES (64u << 10)

typedef struct TracePoolText {
        const char *data;
        uint32_t n;
        uint32_t next; /* number of the next one with the same hash, or 0 */
} TracePoolText;

typedef struct TracePoolBlock {
        struct TracePoolBlock *next;
        size_t n, n_allocated;
        char data[];
} TracePoolBlock;

int trace_pool_init(TracePool *pool) {
        *pool = (TracePool){ 0 };
        if (trace_reserve((void **)&pool->texts,
                          &pool->n_allocated,
                          BLOCK_BYTES / 64,
                          sizeof(*pool->texts)))
                return -ENOMEM;
        pool->texts[0] = (TracePoolText){ 0 };
        pool->n_texts = 1;
        return 0;
}

void trace_pool_deinit(TracePool *pool) {
        while (pool->blocks) {
                TracePoolBlock *block = pool->blocks;

                pool->blocks = block->next;
                free(block);
        }
        free(pool->texts);
        trace_map_deinit(&pool->numbers);
        *pool = (TracePool){ 0 };
}

/* None is TRACE_MAP_NONE. */
static uint64_t pool_hash(const void *data, size_t n) {
        return siphash_keyed(data, n) >> 1;
}

static uint32_t pool_find(const TracePool *pool, const void *data, size_t n, uint64_t hash) {
        uint64_t number = trace_map_find(&pool->numbers, hash);

        if (number == TRACE_MAP_NONE)
                return 0;
        while (number &&
               (pool->texts[number].n != n || memcmp(pool->texts[number].data, data, n) != 0))
                number = pool->texts[number].next;
        return (uint32_t)number;
}

static char *pool_room(TracePool *pool, size_t n) {
        TracePoolBlock *block = pool->blocks;

        if (!block || block->n_allocated - block->n < n) {
                size_t n_allocated = MAX(n, (size_t)BLOCK_BYTES);

                block = malloc(sizeof(*block) + n_allocated);
                if (!block)
                        return NULL;
                *block = (TracePoolBlock){ .next = pool->blocks, .n_allocated = n_allocated };
                pool->blocks = block;
        }
        block->n += n;
        return block->data + block->n - n;
}

static uint32_t pool_insert(TracePool *pool, const void *data, size_t n, uint64_t hash) {
        uint64_t first = trace_map_find(&pool->numbers, hash);
        char *copy;

        if (pool->n_bytes + n > TRACE_POOL_BYTES_MAX || pool->n_texts == UINT32_MAX ||
            trace_reserve((void **)&pool->texts,
                          &pool->n_allocated,
                          pool->n_texts + 1,
                          sizeof(*pool->texts)) ||
            !(copy = pool_room(pool, n + 1)) ||
            trace_map_set(&pool->numbers, hash, pool->n_texts)) {
                pool->n_refused++;
                return 0;
        }
        memcpy(copy, data, n);
        copy[n] = '\0';
        pool->n_bytes += n + 1;
        pool->texts[pool->n_texts] = (TracePoolText){
                .data = copy,
                .n = (uint32_t)n,
                .next = first == TRACE_MAP_NONE ? 0 : (uint32_t)first,
        };
        return (uint32_t)pool->n_texts++;
}

/* Replaces whatever is not text: bytes that form no character, and NUL. */
static uint32_t pool_add_cleaned(TracePool *pool, const uint8_t *data, size_t n) {
        char *copy = malloc(n + 1);
        uint32_t number;

        if (!copy) {
                pool->n_refused++;
                return 0;
        }
        for (size_t i = 0; i < n; i++)
                copy[i] = data[i] ? (char)data[i] : '?';
        copy[n] = '\0';
        utf8_clean(copy);
        number = trace_pool_add(pool, copy, n);
        free(copy);
        return number;
}

/* A text that is in the pool already was checked when it was added. */
uint32_t trace_pool_add(TracePool *pool, const void *data, size_t n) {
        const void *text = n ? data : "";
        uint32_t number;
        uint64_t hash;

        n = MIN(n, (size_t)TRACE_POOL_TEXT_MAX);
        hash = pool_hash(text, n);
        number = pool_find(pool, text, n, hash);
        if (number)
                return number;
        return utf8_is_valid(text, n) ? pool_insert(pool, text, n, hash)
                                      : pool_add_cleaned(pool, text, n);
}

uint32_t trace_pool_add_text(TracePool *pool, const char *text) {
        return trace_pool_add(pool, text, strlen(text));
}

uint32_t trace_pool_add_format(TracePool *pool, const char *format, ...) {
        char text[1024];
        va_list args;
        int n;

        va_start(args, format);
        n = vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        return n < 0 ? 0 : trace_pool_add(pool, text, MIN((size_t)n, sizeof(text) - 1));
}

uint32_t trace_pool_find(const TracePool *pool, const void *data, size_t n) {
        const void *text = n ? data : "";

        return pool_find(pool, text, n, pool_hash(text, n));
}

const char *trace_pool_text(const TracePool *pool, uint32_t number) {
        return pool->texts[number].data;
}

size_t trace_pool_length(const TracePool *pool, uint32_t number) {
        return pool->texts[number].n;
}
