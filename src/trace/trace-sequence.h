/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace sequence: what the packets of one writer refer to
 *
 * Names that it has told once (interned data) and defaults are forgotten when the writer says that it starts over.
 * Between a loss and that, packets that need them are left out. The names may be kept meanwhile, as they remain true:
 * that is for the caller to say. The caller keeps the texts, too, and gives them numbers.
 */

#include "trace/trace-map.h"
#include "trace/trace-packet.h"

#define TRACE_SEQUENCES_MAX 100000
#define TRACE_INTERNED_MAX  (1u << 21) /* entries remembered at a time, of all sequences of a file */

typedef enum TraceInterned {
        TRACE_INTERNED_CATEGORY,
        TRACE_INTERNED_EVENT_NAME,
        TRACE_INTERNED_ARG_NAME,
        TRACE_INTERNED_ARG_STRING,
        TRACE_INTERNED_KERNEL_SYMBOL,
        TRACE_INTERNED_FUNCTION_NAME,
        TRACE_INTERNED_MAPPING_PATH,
        _TRACE_INTERNED_TEXTS_N,
        /* What is told of call stacks (trace-stacks.h): rows of tables, but for build ids. */
        TRACE_INTERNED_BUILD_ID = _TRACE_INTERNED_TEXTS_N,
        TRACE_INTERNED_MAPPING,
        TRACE_INTERNED_FRAME,
        TRACE_INTERNED_CALLSTACK,
        _TRACE_INTERNED_N,
} TraceInterned;

typedef struct TraceSequence {
        uint32_t id;
        int32_t uid, pid; /* of who wrote the latest packet */
        size_t number;    /* of the sequence, in the order in which they come */
        size_t lane;
        bool is_valid; /* all that packets may refer to is there */
        uint32_t default_clock;
        uint64_t default_track;
        bool has_default_track;
        /* Of StackSample: who took them, and what they weigh; numbers of texts. */
        uint32_t stack_source, stack_counter, stack_unit;
        TraceMap interned[_TRACE_INTERNED_N]; /* iid → number of a text, or row */
        TraceMap counters; /* uuid → bits of the value that differences add to */
} TraceSequence;

typedef struct TraceSequences {
        TraceMap by_id; /* → number */
        TraceSequence *recent;
        TraceSequence **all;
        size_t n, n_allocated;
        size_t n_interned;
        unsigned kinds; /* bits of TraceInterned that are kept; others are not wanted */
        /* A number for a text, whatever is in it. */
        uint32_t (*add_text)(void *texts, const void *data, size_t n);
        void *texts;
} TraceSequences;

void trace_sequences_deinit(TraceSequences *sequences);

/* Makes it if it is new. NULL: no memory, or past TRACE_SEQUENCES_MAX. */
TraceSequence *trace_sequences_get(TraceSequences *sequences, uint32_t id);

/* It starts over. */
void trace_sequence_clear(TraceSequences *sequences, TraceSequence *sequence);
/* What a packet says for those that follow. 0, -ENOMEM, or -E2BIG past TRACE_INTERNED_MAX. */
int trace_sequence_take(TraceSequences *sequences,
                        TraceSequence *sequence,
                        const TracePacket *packet);

/* Returns false if no packet has described it. */
bool trace_sequence_find(const TraceSequence *sequence,
                         TraceInterned kind,
                         uint64_t iid,
                         uint32_t *ret);

/* What a weight is: perfetto.protos.StackSample.CounterDescriptor. */
void trace_sequence_read_counter(TraceSequences *sequences,
                                 const WireField *descriptor,
                                 uint32_t *ret_name,
                                 uint32_t *ret_unit);

/* The sum of the differences so far. */
double trace_sequence_add_up(TraceSequence *sequence, uint64_t track_uuid, double difference);
