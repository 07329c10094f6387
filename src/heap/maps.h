/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Maps: the memory that the program has mapped for itself and has not given back
 *
 * The ranges of addresses are sorted. A program may unmap part of a range, which leaves one or two smaller ranges.
 * Every function here needs the owner's lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPS_MAX 16384u

typedef struct MapRange {
        uint64_t start, end;
        uint32_t site;
        uint32_t at_ms;   /* when it was mapped */
        uint8_t sessions; /* one bit for each session that has counted it */
        uint8_t heap;     /* the heap that it is counted in */
} MapRange;

typedef struct Maps {
        MapRange *ranges;
        uint32_t n_ranges;
        uint64_t n_refused; /* ranges for which there was no room */
} Maps;

/* Adds a range. The caller has already taken out whatever it overlaps. Returns 0, or -ENOMEM, which is counted. */
int maps_add(Maps *maps, const MapRange *range);
/* Takes out what the first range between these two addresses has there: *ret is that part, and *ret_is_whole says
 * whether nothing of the range is left. Returns false if there is no range. Where a range would be cut in two and
 * there is no room for the second half, that half is taken out, too. */
bool maps_take(Maps *maps, uint64_t start, uint64_t end, MapRange *ret, bool *ret_is_whole);
/* Call it when a session has ended: it removes the ranges that only this session has counted. */
void maps_forget_session(Maps *maps, unsigned session);
