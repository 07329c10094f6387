/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Maps: the memory that the program has mapped for itself and has not given back */

#include <errno.h>

#include "heap/maps.h"
#include "heap/memory.h"
#include "shared/macro.h"

/* The index of the first range that ends after the address. */
static uint32_t find(const Maps *maps, uint64_t address) {
        uint32_t low = 0, high = maps->n_ranges;

        while (low < high) {
                const uint32_t middle = low + (high - low) / 2;

                if (maps->ranges[middle].end <= address)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static bool make_room(Maps *maps, uint32_t at) {
        if (!maps->ranges)
                maps->ranges = heap_memory_map(MAPS_MAX * sizeof(*maps->ranges));
        if (!maps->ranges || maps->n_ranges == MAPS_MAX)
                return false;
        memmove(&maps->ranges[at + 1],
                &maps->ranges[at],
                (maps->n_ranges - at) * sizeof(*maps->ranges));
        maps->n_ranges++;
        return true;
}

static void remove_at(Maps *maps, uint32_t at) {
        maps->n_ranges--;
        memmove(&maps->ranges[at],
                &maps->ranges[at + 1],
                (maps->n_ranges - at) * sizeof(*maps->ranges));
}

int maps_add(Maps *maps, const MapRange *range) {
        const uint32_t at = find(maps, range->start);

        if (!make_room(maps, at)) {
                maps->n_refused++;
                return -ENOMEM;
        }
        maps->ranges[at] = *range;
        return 0;
}

bool maps_take(Maps *maps, uint64_t start, uint64_t end, MapRange *ret, bool *ret_is_whole) {
        const uint32_t at = find(maps, start);
        MapRange *range = maps->ranges + at;
        bool has_front, has_back;

        if (at == maps->n_ranges || range->start >= end)
                return false;
        *ret = *range;
        has_front = range->start < start;
        has_back = range->end > end;
        if (has_front && has_back && !make_room(maps, at)) {
                maps->n_refused++;
                has_back = false;
        }
        ret->start = MAX(ret->start, start);
        ret->end = has_back ? end : ret->end;
        *ret_is_whole = !has_front && !has_back;
        if (*ret_is_whole)
                remove_at(maps, at);
        else if (has_front)
                maps->ranges[at].end = start;
        if (has_back)
                maps->ranges[at + has_front].start = end;
        return true;
}

void maps_forget_session(Maps *maps, unsigned session) {
        uint32_t n_kept = 0;

        for (uint32_t i = 0; i < maps->n_ranges; i++) {
                MapRange *range = &maps->ranges[i];

                range->sessions &= (uint8_t) ~(1u << session);
                if (range->sessions != 0)
                        maps->ranges[n_kept++] = *range;
        }
        maps->n_ranges = n_kept;
}
