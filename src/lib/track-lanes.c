/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lanes: tracks for things that overlap, of which each use takes the lowest free one */

#include "lib/source-private.h"

#include "desktrace/track-event.h"

#define WORD_BITS 64

/* Takes the lowest free bit. Returns false if all are taken. */
static bool take_bit(uint64_t *word, unsigned *ret) {
        uint64_t taken = __atomic_load_n(word, __ATOMIC_RELAXED);

        while (taken != UINT64_MAX) {
                unsigned bit = (unsigned)__builtin_ctzll(~taken);

                /* acquire: pairs with the return of the lane, so that its last slice ended before this one begins. */
                if (__atomic_compare_exchange_n(word,
                                                &taken,
                                                taken | UINT64_C(1) << bit,
                                                true,
                                                __ATOMIC_ACQUIRE,
                                                __ATOMIC_RELAXED)) {
                        *ret = bit;
                        return true;
                }
        }
        return false;
}

DT_EXPORT dt_track dt_lane_take(dt_lanes *lanes) {
        dt_track lane = { lanes->name, NULL, lanes->id, lanes->parent };
        unsigned bit;

        for (unsigned i = 0; i < DT_LANES_MAX / WORD_BITS; i++)
                if (take_bit(&lanes->taken[i], &bit)) {
                        lane.id += i * WORD_BITS + bit;
                        return lane;
                }
        lane.id += DT_LANES_MAX + __atomic_fetch_add(&lanes->n_more, 1, __ATOMIC_RELAXED);
        return lane;
}

DT_EXPORT void dt_lane_return(dt_lanes *lanes, const dt_track *lane) {
        uint64_t number = lane->id - lanes->id;

        if (number < DT_LANES_MAX)
                __atomic_fetch_and(&lanes->taken[number / WORD_BITS],
                                   ~(UINT64_C(1) << number % WORD_BITS),
                                   __ATOMIC_RELEASE);
}
