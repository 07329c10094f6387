/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf held: samples that wait for the names of the kernel's functions */

#include <assert.h>
#include <stdlib.h>

#include "probes/perf/perf-held.h"

void perf_held_init(PerfHeld *held) {
        *held = (PerfHeld){};
        list_init(&held->samples);
}

void perf_held_deinit(PerfHeld *held) {
        HeldSample *sample;

        while ((sample = perf_held_take(held)))
                held_sample_free(sample);
        assert(held->n_bytes == 0);
}

bool perf_held_add(PerfHeld *held,
                   const PerfMoment *moment,
                   uint64_t weight,
                   const StackTable *stacks,
                   bool (*is_lasting)(const StackPart *part)) {
        HeldSample *sample;

        if (held->n_bytes >= PERF_HELD_BYTES_MAX)
                return false;
        sample = calloc(1, sizeof(*sample));
        if (!sample)
                return false;
        list_init(&sample->samples);
        if (kept_stack_init(
                    &sample->stack, stacks, PERF_HELD_BYTES_MAX - held->n_bytes, is_lasting) < 0) {
                held_sample_free(sample);
                return false;
        }
        sample->moment = *moment;
        sample->weight = weight;
        held->n_bytes += sizeof(*sample) + sample->stack.n_bytes;
        list_append(&held->samples, &sample->samples);
        return true;
}

HeldSample *perf_held_take(PerfHeld *held) {
        HeldSample *sample = list_first(&held->samples, HeldSample, samples);

        if (!sample)
                return NULL;
        list_unlink(&sample->samples);
        held->n_bytes -= sizeof(*sample) + sample->stack.n_bytes;
        return sample;
}

HeldSample *held_sample_free(HeldSample *sample) {
        if (!sample)
                return NULL;
        kept_stack_deinit(&sample->stack);
        free(sample);
        return NULL;
}
