/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace sequence: what the packets of one writer refer to
 *
 * A writer tells names once (interned data), and sets defaults. Both are forgotten when it says that it starts over.
 * After a loss, packets that need them are left out until then. The caller may decide to keep the names meanwhile, as
 * they stay true. The caller also keeps the texts and numbers them.
 */

#include "trace/trace-map.h"
#include "trace/trace-packet.h"

#define TRACE_SEQUENCES_MAX 100000
#define TRACE_INTERNED_MAX  (1u << 21) /* entries that all sequences of a file may remember */

typedef enum TraceInterned {
        TRACE_INTERNED_CATEGORY,
        TRACE_INTERNED_EVENT_NAME,
        TRACE_INTERNED_ARG_NAME,
        TRACE_INTERNED_ARG_STRING,
        TRACE_INTERNED_KERNEL_SYMBOL,
        TRACE_INTERNED_FUNCTION_NAME,
        TRACE_INTERNED_MAPPING_PATH,
        _TRACE_INTERNED_TEXTS_N,
        /* What is known about call stacks (trace-stacks.h). All are rows of tables except for build ids. */
        TRACE_INTERNED_BUILD_ID = _TRACE_INTERNED_TEXTS_N,
        TRACE_INTERNED_MAPPING,
        TRACE_INTERNED_FRAME,
        TRACE_INTERNED_CALLSTACK,
        _TRACE_INTERNED_N,
} TraceInterned;

typedef struct TraceSequence {
        uint32_t id;
        int32_t uid, pid; /* who wrote the latest packet */
        size_t number;    /* sequences are numbered in the order in which they come */
        size_t lane;
        bool is_valid; /* all that packets may refer to is present */
        uint32_t default_clock;
        uint64_t default_track;
        bool has_default_track;
        /* From StackSample: who took the samples, and what they weigh. Both are numbers of texts. */
        uint32_t stack_source, stack_counter, stack_unit;
        TraceMap interned[_TRACE_INTERNED_N]; /* iid → number of a text, or row */
        TraceMap counters; /* uuid → bits of the value to which differences are added */
} TraceSequence;

typedef struct TraceSequences {
        TraceMap by_id; /* → number */
        TraceSequence *recent;
        TraceSequence **all;
        size_t n, n_allocated;
        size_t n_interned;
        unsigned kinds; /* the bits of TraceInterned to keep; others are not wanted */
        /* Returns a number for a text, whatever bytes it has. */
        uint32_t (*add_text)(void *texts, const void *data, size_t n);
        void *texts;
} TraceSequences;

void trace_sequences_deinit(TraceSequences *sequences);

/* Returns the sequence with this id, or makes it. Returns NULL if memory has run out or there are
 * TRACE_SEQUENCES_MAX. */
TraceSequence *trace_sequences_get(TraceSequences *sequences, uint32_t id);

/* It starts over. */
void trace_sequence_clear(TraceSequences *sequences, TraceSequence *sequence);
/* Takes note of what a packet says about those that follow. Returns 0, -ENOMEM, or -E2BIG past TRACE_INTERNED_MAX. */
int trace_sequence_take(TraceSequences *sequences,
                        TraceSequence *sequence,
                        const TracePacket *packet);

/* Returns false if no packet has described it. */
bool trace_sequence_find(const TraceSequence *sequence,
                         TraceInterned kind,
                         uint64_t iid,
                         uint32_t *ret);

/* What a weight means: perfetto.protos.StackSample.CounterDescriptor. */
void trace_sequence_read_counter(TraceSequences *sequences,
                                 const WireField *descriptor,
                                 uint32_t *ret_name,
                                 uint32_t *ret_unit);

/* The sum of all differences so far. */
double trace_sequence_add_up(TraceSequence *sequence, uint64_t track_uuid, double difference);
