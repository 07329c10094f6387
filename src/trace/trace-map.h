/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace map: maps numbers to numbers, and makes plain arrays grow
 *
 * An open-addressing table for keys that come from files. Its hash has a secret, so nobody can prepare keys that
 * collide. A zero-initialised map is valid and empty. Nothing is ever removed, but a value can be changed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

#define TRACE_MAP_NONE UINT64_MAX /* no value may be this number */

typedef struct TraceMap {
        struct TraceMapEntry *entries;
        size_t n;
        size_t n_allocated; /* a power of two, or 0 */
        uint64_t secret;
} TraceMap;

void trace_map_deinit(TraceMap *map);
/* Keeps the memory. */
void trace_map_clear(TraceMap *map);

/* Returns TRACE_MAP_NONE if the key is not there. */
uint64_t trace_map_find(const TraceMap *map, uint64_t key);
/* Returns 0, or -ENOMEM. */
int trace_map_set(TraceMap *map, uint64_t key, uint64_t value);

/* Walks over all entries; *at starts at 0. Returns false after the last one. */
bool trace_map_next(const TraceMap *map, size_t *at, uint64_t *ret_key, uint64_t *ret_value);

/* Makes room for n items of this width in an array that doubles. Returns 0 or -ENOMEM. */
int trace_reserve(void **array, size_t *n_allocated, size_t n, size_t width);
