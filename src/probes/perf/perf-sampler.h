/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf sampler: samples as packets of a trace
 *
 * Stacks are walked directly in the kernel's ring, and their contents are not kept. The trace only gets the chain of
 * calls: addresses in files, and names of kernel functions. The chain of a sleeping thread is kept until it runs again,
 * and any chain until the kernel's names have been read.
 */

#include "probes/perf/perf-events.h"
#include "probes/perf/perf-held.h"
#include "probes/perf/perf-kernel.h"
#include "probes/perf/perf-pieces.h"
#include "probes/perf/perf-processes.h"
#include "probes/perf/perf-sleepers.h"
#include "probes/perf/perf-writer.h"

#define PERF_WAIT_NS           UINT64_C(50000000) /* time to wait for files, in one drain */
#define PERF_WAIT_STEP_NS      UINT64_C(2000000)  /* after which the rings' fill level is checked */
#define PERF_WAIT_FILL_PERCENT 70u                /* of the fullest ring */

/* What was sampled, for the log. */
typedef struct PerfCounts {
        uint64_t n_samples;
        uint64_t n_complete; /* of those with a stack of their own */
        uint64_t n_stacks;
        uint64_t n_by_code; /* complete because of a row that was made from instructions */
        uint64_t n_lost;
        uint64_t n_bad;       /* malformed records */
        uint64_t n_unsettled; /* samples of processes that were not identified in time */
} PerfCounts;

typedef struct PerfSampler {
        PerfWriter writer;
        const PerfSettings *settings; /* borrowed */
        const PerfEvents
                *events; /* borrowed, too: where records come from; NULL: they come from a test */
        PerfLayout layout;
        PerfKernel kernel;
        PerfHeld held;
        Unwinder *unwinder;
        PerfCode code;
        PerfProcesses processes;
        PerfPieces pieces;
        PerfSleepers sleepers; /* empty unless sleep is sampled */
        StackModule jit_module;
        StackModule unknown_module;
        StackModule cut_module;
        uint64_t wait_until_ns; /* of this drain */
        PerfCounts counts;
} PerfSampler;

/* The settings must outlive it. Returns 0 or a negative errno. */
int perf_sampler_init(PerfSampler *sampler, const PerfSettings *settings, PacketSink *sink);
void perf_sampler_deinit(PerfSampler *sampler);

/* Call these before and after the records of one drain. */
void perf_sampler_begin(PerfSampler *sampler);
void perf_sampler_end(PerfSampler *sampler);

void perf_sampler_take(PerfSampler *sampler,
                       const void *record,
                       size_t n_bytes,
                       uint32_t cpu,
                       uint64_t time_ns);

/* Writes the held samples, after waiting for the kernel's names. */
void perf_sampler_settle(PerfSampler *sampler);
/* Writes the sleep of all sleepers up to now; they sleep on from here. So no sample is older than the last flush. */
void perf_sampler_cut(PerfSampler *sampler, uint64_t time_ns);

/* Takes over the loader's results. Returns whether something is still being read. */
bool perf_sampler_collect(PerfSampler *sampler);

/* Tells that the trace's state was cleared. */
void perf_sampler_clear(PerfSampler *sampler);
