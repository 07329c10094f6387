/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Maps: the memory that the program has mapped for itself and has not given back
 *
 * Ranges of addresses, sorted. A program may unmap part of a range, which leaves one smaller range or two. Everything
 * needs the owner's lock.
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
        uint64_t n_refused; /* ranges for which there was no room */
} Maps;

/* Adds a range. The caller has taken whatever it overlaps. 0, or -ENOMEM, which is counted. */
int maps_add(Maps *maps, const MapRange *range);
/* Takes what of the first range there lies between the two: *ret is that part, *ret_is_whole whether nothing is left of
 * the range. False: there is none. A range of which there is no room for a second half loses it: that is taken, too. */
bool maps_take(Maps *maps, uint64_t start, uint64_t end, MapRange *ret, bool *ret_is_whole);
/* Call it when a session has ended: removes ranges that only that session has counted. */
void maps_forget_session(Maps *maps, unsigned session);
