/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Maps: the memory that the program has mapped for itself and has not given back
 *
 * Ranges of addresses in their order. Part of one can be given back, so what is left of it is a range, or two. All
 * under the owner's lock.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPS_MAX 16384u

typedef struct MapRange {
        uint64_t start, end;
        uint32_t site;
        uint32_t at_ms;   /* when it was mapped */
        uint8_t sessions; /* a bit for each that has counted it */
        uint8_t heap;     /* that it is counted in */
} MapRange;

typedef struct Maps {
        MapRange *ranges;
        uint32_t n_ranges;
        uint64_t n_refused; /* that found no room */
} Maps;

/* Nothing else is there: it has been taken before. 0, or -ENOMEM and counted. */
int maps_add(Maps *maps, const MapRange *range);
/* Takes what of the first range there lies between the two: *ret is that part, *ret_is_whole whether nothing is left of
 * the range. False: there is none. A range of which there is no room for a second half loses it: that is taken, too. */
bool maps_take(Maps *maps, uint64_t start, uint64_t end, MapRange *ret, bool *ret_is_whole);
/* A session has ended: what only it has counted goes. */
void maps_forget_session(Maps *maps, unsigned session);
