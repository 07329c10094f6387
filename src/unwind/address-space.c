/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Address space: which parts of a process's memory are code, and whose */

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shared/bisect.h"
#include "shared/macro.h"
#include "unwind/address-space.h"

static _Atomic uint32_t next_generation = 1;

static void touch(AddressSpace *space) {
        space->generation = atomic_fetch_add_explicit(&next_generation, 1, memory_order_relaxed);
        space->is_shared = false;
}

void address_space_init(AddressSpace *space) {
        *space = (AddressSpace){};
        touch(space);
}

void address_space_deinit(AddressSpace *space) {
        free(space->mappings);
        *space = (AddressSpace){};
}

static int reserve(AddressSpace *space, size_t n) {
        Mapping *mappings;
        size_t n_wanted;

        if (n <= space->n_allocated)
                return 0;
        n_wanted = space->n_allocated > 0 ? space->n_allocated * 2 : 16;
        n_wanted = MAX(n, n_wanted);
        mappings = reallocarray(space->mappings, n_wanted, sizeof(*mappings));
        if (!mappings)
                return -ENOMEM;
        space->mappings = mappings;
        space->n_allocated = n_wanted;
        return 0;
}

/* The index of the first mapping that ends after an address. */
static size_t index_of(const AddressSpace *space, uint64_t address) {
        return bisect(space->mappings, space->n_mappings, end, address);
}

static void move(AddressSpace *space, size_t to, size_t from) {
        memmove(space->mappings + to,
                space->mappings + from,
                (space->n_mappings - from) * sizeof(*space->mappings));
        space->n_mappings = space->n_mappings + to - from;
}

static Mapping behind(const Mapping *mapping, uint64_t start) {
        return (Mapping){
                .start = start,
                .end = mapping->end,
                .offset = mapping->offset + (start - mapping->start),
                .file = mapping->file,
        };
}

/* Clears [start, end): removes mappings inside the range and cuts those that overlap it. Returns the index at which a
 * new mapping belongs. The array must have room for two more. */
static size_t cut_out(AddressSpace *space, uint64_t start, uint64_t end) {
        size_t first = index_of(space, start), last;
        Mapping *mapping;

        if (first < space->n_mappings && space->mappings[first].start < start) {
                mapping = &space->mappings[first];
                if (mapping->end > end) { /* the mapping continues after the range: split it */
                        move(space, first + 1, first);
                        space->mappings[first + 1] = behind(&space->mappings[first], end);
                }
                space->mappings[first].end = start;
                first++;
        }
        for (last = first; last < space->n_mappings && space->mappings[last].end <= end; last++)
                ;
        if (last < space->n_mappings && space->mappings[last].start < end)
                space->mappings[last] = behind(&space->mappings[last], end);
        if (last > first)
                move(space, first, last);
        return first;
}

static bool is_free(const AddressSpace *space, uint64_t start, uint64_t end) {
        const size_t at = index_of(space, start);

        return at == space->n_mappings || space->mappings[at].start >= end;
}

int address_space_map(AddressSpace *space, const Mapping *mapping) {
        size_t at;
        int r;

        if (mapping->start >= mapping->end)
                return -EINVAL;
        if (space->n_mappings + 2 > ADDRESS_SPACE_MAPPINGS_MAX) {
                space->n_refused++;
                return -E2BIG;
        }
        r = reserve(space, space->n_mappings + 2);
        if (r < 0)
                return r;
        if (space->is_shared || !is_free(space, mapping->start, mapping->end))
                touch(space);
        at = cut_out(space, mapping->start, mapping->end);
        move(space, at + 1, at);
        space->mappings[at] = *mapping;
        return 0;
}

void address_space_clear(AddressSpace *space) {
        space->n_mappings = 0;
        touch(space);
}

int address_space_copy(AddressSpace *space, AddressSpace *from) {
        int r;

        r = reserve(space, from->n_mappings);
        if (r < 0)
                return r;
        if (from->n_mappings > 0)
                memcpy(space->mappings, from->mappings, from->n_mappings * sizeof(*from->mappings));
        space->n_mappings = from->n_mappings;
        space->generation = from->generation;
        space->is_shared = from->is_shared = true;
        return 0;
}

const Mapping *address_space_find(const AddressSpace *space, uint64_t address) {
        size_t i;

        if (space->find)
                return space->find(space, address);
        i = index_of(space, address);
        return i < space->n_mappings && space->mappings[i].start <= address ? &space->mappings[i]
                                                                            : NULL;
}
