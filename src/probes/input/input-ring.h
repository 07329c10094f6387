/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Input ring: an instance that records the input events, and returns their records in order of time
 *
 * The rings of the CPUs are read one after another. So records newer than the beginning of a turn are kept for the next
 * turn, when it is certain that nothing older can follow.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/own-pages.h"
#include "probes/input/input-record.h"

#define INPUT_RECORDS_MAX 4096 /* between two turns: a mouse makes some 3000 a second */
#define INPUT_BUFFER_KB   256  /* the size of each CPU's ring */

typedef struct InputRing {
        OwnPages pages;
        InputEvents events;
        InputLayout layout;
        InputRecord *records; /* room for INPUT_RECORDS_MAX */
        size_t n_records;
        bool lost; /* records are missing; the caller resets this */
} InputRing;

/* Defines the events and prepares the instance, which is not recording yet. Returns 0, PROBE_E_REFUSED or a negative
 * errno. */
int input_ring_new(InputRing **ret, char **ret_error);
/* Afterwards, the kernel has nothing of it. */
InputRing *input_ring_free(InputRing *ring);
DEFINE_CLEANUP(InputRing *, input_ring_free)

int input_ring_start(InputRing *ring, char **ret_error);
void input_ring_stop(InputRing *ring);

/* Reads what the kernel has into ring->records, sorted. */
void input_ring_read(InputRing *ring);
/* Drops the first `n` records. */
void input_ring_consume(InputRing *ring, size_t n);
