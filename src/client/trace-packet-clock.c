/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Clock snapshots: for times to be converted, and for what a summary says of clocks
 */

#include "client/trace-state.h"

#define PRIMARY_TRACE_CLOCK 2 /* of ClockSnapshot */

static void summary_saw_clock(TraceSummary *summary, const TraceClockReading *reading) {
        size_t i = 0;

        if (trace_clock_is_of_sequence(reading->id))
                return;
        while (i < summary->n_clocks && summary->clocks[i].id != reading->id)
                i++;
        if (i == TRACE_CLOCKS_MAX)
                return;
        if (i == summary->n_clocks) {
                summary->n_clocks++;
                summary->clocks[i].id = reading->id;
                summary->clocks[i].first_ns = reading->timestamp;
        }
        summary->clocks[i].n_snapshots++;
        summary->clocks[i].last_ns = reading->timestamp;
}

static void reading_take(TraceClockReading *ret, const WireField *message) {
        uint64_t numbers[5];

        trace_read_numbers(message, numbers, ARRAY_SIZE(numbers));
        *ret = (TraceClockReading){
                .id = (uint32_t)MIN(numbers[1], UINT32_MAX),
                .timestamp = numbers[2],
                .is_incremental = numbers[3] != 0,
                .unit_ns = numbers[4],
        };
}

/* What REALTIME is ahead of trace time, as the first snapshot with both says. */
static void
summary_relate_realtime(TraceSummary *summary, const TraceClockReading *readings, size_t n) {
        const uint32_t trace_time = trace_clocks_trace_time(summary->state->clocks);
        const TraceClockReading *realtime = NULL, *trace = NULL;

        for (size_t i = 0; i < n; i++) {
                if (readings[i].id == TRACE_CLOCK_REALTIME)
                        realtime = &readings[i];
                if (readings[i].id == trace_time)
                        trace = &readings[i];
        }
        if (!realtime || !trace || summary->has_realtime)
                return;
        summary->has_realtime = true;
        summary->realtime_ahead_ns = realtime->timestamp - trace->timestamp;
}

void packet_clock_snapshot(Packet *packet, const WireField *payload) {
        TraceClockReading readings[TRACE_CLOCK_SNAPSHOT_MAX];
        TraceSummary *summary = packet->summary;
        WireReader reader;
        WireField field;
        size_t n = 0;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == PRIMARY_TRACE_CLOCK)
                        trace_clocks_set_trace_time(summary->state->clocks, (uint32_t)field.value);
                if (field.number != 1 || field.type != WIRE_BYTES)
                        continue;
                if (n == ARRAY_SIZE(readings)) {
                        summary->n_omitted++;
                        return;
                }
                reading_take(&readings[n++], &field);
        }
        for (size_t i = 0; i < n; i++)
                summary_saw_clock(summary, &readings[i]);
        summary_relate_realtime(summary, readings, n);
        if (trace_clocks_add_snapshot(summary->state->clocks, packet->sequence->id, readings, n))
                summary->n_omitted++;
}

bool trace_state_time(Packet *packet, uint64_t *ns, uint32_t clock_id) {
        return trace_clocks_convert(
                       packet->summary->state->clocks, ns, packet->sequence->id, clock_id, *ns) ==
               0;
}

uint64_t trace_summary_of_boottime(const TraceSummary *summary, uint64_t boottime_ns) {
        uint64_t ns;

        return trace_clocks_convert(
                       summary->state->clocks, &ns, 0, TRACE_CLOCK_BOOTTIME, boottime_ns)
                       ? 0
                       : ns;
}

uint64_t trace_summary_start_realtime_ns(const TraceSummary *summary) {
        if (!summary->has_realtime || summary->first_ns == 0)
                return 0;
        return summary->realtime_ahead_ns + summary->first_ns;
}
