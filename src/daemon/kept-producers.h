/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kept producers: the shared memory of programs that write for sessions which are left to the next process
 *
 * In systemd's store there are, of each, its memory and a state (keep/kept-state.h), in which is what the core says of
 * it (core/life/producer-past.h) and the key of the memory.
 */

#include "bus/link/bus.h"
#include "shared/list.h"

#define KEPT_PRODUCERS_MAX          1024 /* two descriptors each; who comes later is not kept */
#define KEPT_PRODUCERS_PER_USER_MAX 512  /* of one account */

typedef struct KeptProducers {
        Bus *bus; /* NULL: nobody keeps anything for this process */
        List kept;
        size_t n;
        uint64_t *origins; /* of those that were found */
        size_t n_origins;
        uint64_t seen; /* the last state of things that was looked at */
} KeptProducers;

/* Zeros with a bus. What is found in the store is added, then prepared, and when the sessions are there, taken. */
void kept_producers_init(KeptProducers *producers, Bus *bus);
void kept_producers_add(KeptProducers *producers, uint64_t id, char what, int fd);
void kept_producers_prepare(KeptProducers *producers);
void kept_producers_take(KeptProducers *producers);

/* `state` is another number whenever something may have changed. */
void kept_producers_settle(KeptProducers *producers, uint64_t state);

/* This process has not failed. */
void kept_producers_succeed(KeptProducers *producers);
void kept_producers_deinit(KeptProducers *producers);
