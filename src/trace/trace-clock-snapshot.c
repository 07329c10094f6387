/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace clock snapshot: reads a ClockSnapshot into the clocks of a file */

#include "trace/trace-clock-snapshot.h"

#include "trace/trace-packet.h"

enum {
        SNAPSHOT_CLOCK = 1,
        SNAPSHOT_PRIMARY_TRACE_CLOCK = 2,
};

static TraceClockReading reading_of(const WireField *message) {
        uint64_t numbers[5];

        trace_read_numbers(message, numbers, ARRAY_SIZE(numbers));
        return (TraceClockReading){
                .id = (uint32_t)MIN(numbers[1], UINT32_MAX),
                .timestamp = numbers[2],
                .is_incremental = numbers[3] != 0,
                .unit_ns = numbers[4],
        };
}

static void snapshot_relate(TraceClockSnapshot *snapshot, const TraceClocks *clocks) {
        const TraceClockReading *realtime = NULL;

        for (size_t i = 0; i < snapshot->n; i++) {
                const TraceClockReading *reading = &snapshot->readings[i];

                if (reading->id == TRACE_CLOCK_REALTIME)
                        realtime = reading;
                if (reading->id == trace_clocks_trace_time(clocks)) {
                        snapshot->has_trace_time = true;
                        snapshot->trace_time_ns = reading->timestamp;
                }
        }
        if (!realtime || !snapshot->has_trace_time)
                return;
        snapshot->has_realtime = true;
        snapshot->realtime_ahead_ns = realtime->timestamp - snapshot->trace_time_ns;
}

int trace_clock_snapshot_read(TraceClockSnapshot *ret,
                              TraceClocks *clocks,
                              uint32_t sequence_id,
                              const WireField *bytes) {
        bool is_too_large = false;
        WireReader reader;
        WireField field;

        *ret = (TraceClockSnapshot){ 0 };
        wire_reader_init_field(&reader, bytes);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == SNAPSHOT_PRIMARY_TRACE_CLOCK && field.type == WIRE_VARINT)
                        trace_clocks_set_trace_time(clocks, (uint32_t)field.value);
                if (field.number != SNAPSHOT_CLOCK || field.type != WIRE_BYTES)
                        continue;
                if (ret->n < ARRAY_SIZE(ret->readings))
                        ret->readings[ret->n++] = reading_of(&field);
                else
                        is_too_large = true;
        }
        snapshot_relate(ret, clocks);
        return is_too_large ? TRACE_CLOCK_E_TOO_MANY
                            : trace_clocks_add_snapshot(clocks, sequence_id, ret->readings, ret->n);
}
