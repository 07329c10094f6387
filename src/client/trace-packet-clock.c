/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Clock snapshots: for the conversion of times, and for what a summary says about clocks
 */

#include "client/trace-state.h"
#include "trace/trace-clock-snapshot.h"

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

void packet_clock_snapshot(Packet *packet, const WireField *payload) {
        TraceSummary *summary = packet->summary;
        TraceClockSnapshot snapshot;

        if (trace_clock_snapshot_read(
                    &snapshot, summary->state->clocks, packet->sequence->told->id, payload)) {
                summary->n_omitted++;
                return;
        }
        for (size_t i = 0; i < snapshot.n; i++)
                summary_saw_clock(summary, &snapshot.readings[i]);
        if (!snapshot.has_realtime || summary->has_realtime)
                return;
        summary->has_realtime = true;
        summary->realtime_ahead_ns = snapshot.realtime_ahead_ns;
}

bool trace_state_time(Packet *packet, uint64_t *ns, uint32_t clock_id) {
        return trace_clocks_convert(packet->summary->state->clocks,
                                    ns,
                                    packet->sequence->told->id,
                                    clock_id,
                                    *ns) == 0;
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
