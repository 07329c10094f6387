/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf writer: samples as packets of a trace
 *
 * The current stack, in `stacks`, goes with the next sample that is written. A sample that counts how often something
 * happens is a PerfSample, which all readers know. A sample with a weight, such as the time that a thread slept, is a
 * StackSample.
 */

#include "host/packet-writer.h"
#include "probes/perf/perf-names.h"
#include "probes/perf/perf-settings.h"
#include "probes/perf/stack-table.h"

/* perfetto.protos.Profiling.StackUnwindError */
typedef enum UnwindError {
        UNWIND_ERROR_NONE = 0, /* of ours: not written */
        UNWIND_ERROR_MEMORY = 2,
        UNWIND_ERROR_UNWIND_INFO = 3,
        UNWIND_ERROR_MAP = 5,
        UNWIND_ERROR_MAX_FRAMES = 6,
        UNWIND_ERROR_ELF = 8,
        UNWIND_ERROR_ARCHITECTURE = 12,
} UnwindError;

/* A sample's subject, beside its stack. */
typedef struct PerfMoment {
        uint64_t time_ns;
        pid_t pid;
        pid_t tid;
        uint32_t cpu;
        uint8_t mode; /* PERF_RECORD_MISC_KERNEL, … */
        UnwindError error;
        bool is_bare; /* in the kernel, without anything of the user's stack */
} PerfMoment;

typedef struct PerfWriter {
        PacketWriter packets;
        const PerfSettings *settings; /* borrowed */
        StackTable stacks;
        PerfNames
                names; /* only for a user's own programs; otherwise another data source tells them */
        uint64_t interval; /* a frequency or a period, as it is now */
        bool is_told;      /* the trace has been told of the clock and the event */
} PerfWriter;

/* Returns 0 or a negative errno. */
int perf_writer_init(PerfWriter *writer, const PerfSettings *settings, PacketSink *sink);
void perf_writer_deinit(PerfWriter *writer);

/* Writes what the trace must have before a stack is put together. */
void perf_writer_begin(PerfWriter *writer, uint64_t time_ns);
void perf_writer_sample(PerfWriter *writer, const PerfMoment *moment);
/* `weight`: of one event; the other events for which the sample stands weigh the same. */
void perf_writer_weigh(PerfWriter *writer, const PerfMoment *moment, uint64_t weight);
/* Writes how many samples the kernel had no room for. */
void perf_writer_loss(PerfWriter *writer, uint32_t cpu, uint64_t time_ns, uint64_t n);
/* Writes how many samples the probes had no room for. */
void perf_writer_skip(PerfWriter *writer, uint32_t cpu, uint64_t time_ns);

/* Tells that the trace's state was cleared. */
void perf_writer_clear(PerfWriter *writer);
