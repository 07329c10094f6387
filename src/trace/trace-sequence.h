/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace sequence: what the packets of one writer refer to
 *
 * Names that it has told once (interned data) and defaults are kept through a loss, since they remain true; what
 * began before is forgotten when the writer says that it starts over. Between a loss and that, packets that need
 * them are left out.
 */

#include "trace/trace-map.h"
#include "trace/trace-store.h"
#include "wire/wire-reader.h"

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
        size_t lane;
        bool is_valid; /* all that packets may refer to is there */
        uint32_t default_clock;
        uint64_t default_track;
        bool has_default_track;
        int32_t thread_pid, thread_tid;       /* of the older ThreadDescriptor; 0: none */
        TraceMap interned[_TRACE_INTERNED_N]; /* iid → number in the pool, or row */
        TraceMap counters; /* uuid → bits of the value that differences add to */
} TraceSequence;

TraceSequence *trace_sequence_free(TraceSequence *sequence);

/* It starts over. */
void trace_sequence_clear(TraceSequence *sequence);
void trace_sequence_take_defaults(TraceSequence *sequence, const WireField *defaults);
/* 0, or -ENOMEM. */
int trace_sequence_take_interned(TraceSequence *sequence,
                                 TracePool *pool,
                                 const WireField *interned);

/* False: it was never told. */
bool trace_sequence_find(const TraceSequence *sequence,
                         TraceInterned kind,
                         uint64_t iid,
                         uint32_t *ret);

/* The sum of the differences so far. */
double trace_sequence_add_up(TraceSequence *sequence, uint64_t track_uuid, double difference);
