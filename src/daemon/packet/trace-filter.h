/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace filter: an allow-list for what leaves a session
 *
 * A filter program says which fields of a packet stay, and string rules say how strings are changed. Fields that the
 * program does not name are removed. Applied to every packet at read-out, also to the service's own, but not to the
 * final statistics. Packets are filtered in place: they only become shorter.
 */

#include <stddef.h>
#include <stdint.h>

#include "packet/filter-program.h"
#include "packet/string-rules.h"

#define TRACE_FILTER_DEPTH_MAX 64 /* messages within messages */

typedef struct TraceFilter TraceFilter;

/* The numbers have the meanings that perfetto.protos.TraceStats.FilterStats gives them. */
typedef struct TraceFilterStats {
        uint64_t n_packets, n_bytes_in, n_bytes_out, n_errors;
} TraceFilterStats;

enum {
        _TRACE_FILTER_E_SUCCESS,
        TRACE_FILTER_E_DROPPED, /* nothing of the packet is allowed, or it is not a message */
};

/* Takes both over on success; `strings` may be NULL. Returns 0, -ENOMEM, or -EINVAL when the program has no
 * Trace.packet. */
int trace_filter_new(TraceFilter **ret, FilterProgram *program, StringRules *strings);
TraceFilter *trace_filter_free(TraceFilter *filter);
DEFINE_CLEANUP(TraceFilter *, trace_filter_free)

/* Filters a serialized TracePacket in place; *n_bytes becomes the length of the rest. */
int trace_filter_apply(TraceFilter *filter, uint8_t *packet, size_t *n_bytes);

const TraceFilterStats *trace_filter_stats(const TraceFilter *filter);

/* The string_rules_cost() of its rules. */
uint64_t trace_filter_cost(const TraceFilter *filter);
