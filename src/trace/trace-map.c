/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace map: maps numbers to numbers, and makes plain arrays grow */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shared/siphash.h"
#include "trace/trace-map.h"

#define MAP_MIN 16

struct TraceMapEntry {
        uint64_t key;
        uint64_t value; /* TRACE_MAP_NONE: free */
};

void trace_map_deinit(TraceMap *map) {
        free(map->entries);
        *map = (TraceMap){ 0 };
}

void trace_map_clear(TraceMap *map) {
        if (map->n)
                memset(map->entries, 0xff, map->n_allocated * sizeof(*map->entries));
        map->n = 0;
}

/* Each bit of the key and of the secret affects each bit of the place. */
static size_t map_place(const TraceMap *map, uint64_t key) {
        uint64_t x = key ^ map->secret;

        x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd) + map->secret;
        x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
        return (size_t)(x ^ x >> 33) & (map->n_allocated - 1);
}

/* The place where the key is, or where it would be. */
static struct TraceMapEntry *map_entry(const TraceMap *map, uint64_t key) {
        size_t i = map_place(map, key);

        while (map->entries[i].value != TRACE_MAP_NONE && map->entries[i].key != key)
                i = (i + 1) & (map->n_allocated - 1);
        return &map->entries[i];
}

uint64_t trace_map_find(const TraceMap *map, uint64_t key) {
        return map->n_allocated ? map_entry(map, key)->value : TRACE_MAP_NONE;
}

static int map_grow(TraceMap *map) {
        TraceMap larger = {
                .n = map->n,
                .n_allocated = map->n_allocated ? map->n_allocated * 2 : MAP_MIN,
                .secret = siphash_secret(0),
        };

        larger.entries = reallocarray(NULL, larger.n_allocated, sizeof(*larger.entries));
        if (!larger.entries)
                return -ENOMEM;
        memset(larger.entries, 0xff, larger.n_allocated * sizeof(*larger.entries));
        for (size_t i = 0; i < map->n_allocated; i++)
                if (map->entries[i].value != TRACE_MAP_NONE)
                        *map_entry(&larger, map->entries[i].key) = map->entries[i];
        free(map->entries);
        *map = larger;
        return 0;
}

int trace_map_set(TraceMap *map, uint64_t key, uint64_t value) {
        struct TraceMapEntry *entry;

        /* At most two thirds of the places are used. */
        if (map->n * 3 >= map->n_allocated * 2 && map_grow(map) < 0)
                return -ENOMEM;
        entry = map_entry(map, key);
        map->n += entry->value == TRACE_MAP_NONE;
        *entry = (struct TraceMapEntry){ .key = key, .value = value };
        return 0;
}

bool trace_map_next(const TraceMap *map, size_t *at, uint64_t *ret_key, uint64_t *ret_value) {
        while (*at < map->n_allocated) {
                const struct TraceMapEntry *entry = &map->entries[(*at)++];

                if (entry->value == TRACE_MAP_NONE)
                        continue;
                *ret_key = entry->key;
                *ret_value = entry->value;
                return true;
        }
        return false;
}

int trace_reserve(void **array, size_t *n_allocated, size_t n, size_t width) {
        size_t more = *n_allocated ? *n_allocated * 2 : 8;
        void *larger;

        if (n <= *n_allocated)
                return 0;
        if (more < n)
                more = n;
        larger = reallocarray(*array, more, width);
        if (!larger)
                return -ENOMEM;
        *array = larger;
        *n_allocated = more;
        return 0;
}
