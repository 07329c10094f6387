/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace statistics: what the service and the kernel counted */

#include "trace/trace-stats.h"

#include "shared/macro.h"
#include "trace/trace-packet.h"

#define STATS_BUFFER       1 /* of TraceStats */
#define KERNEL_STATS_PHASE 1 /* of FtraceStats */
#define KERNEL_STATS_CPU   2

uint64_t trace_stats_read(uint64_t ret[static _TRACE_STATS], const WireField *payload) {
        return trace_read_numbers(payload, ret, _TRACE_STATS);
}

uint64_t trace_buffer_stats_read(uint64_t ret[static _TRACE_BUFFER_STATS],
                                 const WireField *message) {
        return trace_read_numbers(message, ret, _TRACE_BUFFER_STATS);
}

static bool next_message(WireReader *reader, uint32_t number, WireField *ret) {
        while (wire_read(reader, ret) > 0)
                if (ret->number == number && ret->type == WIRE_BYTES)
                        return true;
        return false;
}

bool trace_stats_next_buffer(WireReader *stats, WireField *ret) {
        return next_message(stats, STATS_BUFFER, ret);
}

TraceStatsPhase trace_kernel_stats_phase(const WireField *payload) {
        uint64_t numbers[KERNEL_STATS_PHASE + 1];

        trace_read_numbers(payload, numbers, ARRAY_SIZE(numbers));
        return numbers[KERNEL_STATS_PHASE] > TRACE_STATS_END
                       ? TRACE_STATS_UNKNOWN
                       : (TraceStatsPhase)numbers[KERNEL_STATS_PHASE];
}

bool trace_kernel_stats_next_cpu(WireReader *stats, uint64_t ret[static _TRACE_KERNEL_STATS]) {
        WireField message;

        if (!next_message(stats, KERNEL_STATS_CPU, &message))
                return false;
        trace_read_numbers(&message, ret, _TRACE_KERNEL_STATS);
        return true;
}
