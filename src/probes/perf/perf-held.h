/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf held: samples that wait for the names of the kernel's functions
 *
 * Reading these names takes a tenth of a second, on a busy machine several tenths, and the kernel's rings have no
 * room for the samples of that time. So stacks are walked at once, and written when the names are there.
 */

#include "probes/perf/kept-stack.h"
#include "probes/perf/perf-writer.h"
#include "shared/list.h"

#define PERF_HELD_BYTES_MAX (16u << 20) /* some 10,000 stacks */

typedef struct HeldSample {
        List samples; /* of the PerfHeld */
        PerfMoment moment;
        uint64_t weight;
        KeptStack stack;
} HeldSample;

typedef struct PerfHeld {
        List samples; /* HeldSample.samples, in the order in which they came */
        size_t n_bytes;
} PerfHeld;

void perf_held_init(PerfHeld *held);
void perf_held_deinit(PerfHeld *held);

/* Keeps the current stack with the sample; `is_lasting` as in kept_stack_init(). Returns false if there is no room. */
bool perf_held_add(PerfHeld *held,
                   const PerfMoment *moment,
                   uint64_t weight,
                   const StackTable *stacks,
                   bool (*is_lasting)(const StackPart *part));

/* Takes the oldest sample, which the caller frees; NULL: there is none. */
HeldSample *perf_held_take(PerfHeld *held);
HeldSample *held_sample_free(HeldSample *sample);
