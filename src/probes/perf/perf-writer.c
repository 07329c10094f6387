/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf writer: samples as packets of a trace */

#include "probes/perf/perf-writer.h"
#include "wire/stack-sample.h"

/* perfetto.protos.TracePacketDefaults, PerfSampleDefaults, PerfEvents.Timebase */
enum {
        DEFAULTS_PERF_SAMPLE = 12,
        DEFAULTS_CLOCK_ID = 58,
        DEFAULTS_STACK_SAMPLE = 100,
        PERF_DEFAULTS_TIMEBASE = 1,
        TIMEBASE_PERIOD = 1,
        TIMEBASE_FREQUENCY = 2,
        TIMEBASE_TRACEPOINT = 3,
        TIMEBASE_COUNTER = 4,
        TRACEPOINT_NAME = 1,
        TRACEPOINT_FILTER = 2,
};

/* perfetto.protos.PerfSample.SampleSkipReason */
enum { SKIPPED_ENQUEUE = 3 };

/* perfetto.protos.StackSampleDefaults, and modes of StackSample */
enum {
        STACK_DEFAULTS_SOURCE = 1,
        STACK_DEFAULTS_DESCRIPTOR = 2,
        DESCRIPTOR_NAME = 2,
        DESCRIPTOR_UNIT = 3,
        MODE_USER = 1,
        MODE_KERNEL = 2,
};

int perf_writer_init(PerfWriter *writer, const PerfSettings *settings, PacketSink *sink) {
        int r;

        *writer = (PerfWriter){ .settings = settings, .interval = settings->interval };
        packet_writer_init(&writer->packets, sink);
        r = stack_table_init(&writer->stacks);
        if (r >= 0 && (settings->is_own || settings->has_owner))
                r = perf_names_init(&writer->names);
        return r;
}

void perf_writer_deinit(PerfWriter *writer) {
        stack_table_deinit(&writer->stacks);
        perf_names_deinit(&writer->names);
        packet_writer_deinit(&writer->packets);
}

void perf_writer_clear(PerfWriter *writer) {
        writer->is_told = false;
}

/*
 * Descriptions in the trace
 */

static void encode_timebase(const PerfWriter *writer, WireWriter *wire) {
        const PerfSettings *settings = writer->settings;
        const size_t perf = wire_begin(wire, DEFAULTS_PERF_SAMPLE);
        size_t timebase = wire_begin(wire, PERF_DEFAULTS_TIMEBASE), tracepoint;

        wire_put_uint(wire,
                      settings->is_frequency ? TIMEBASE_FREQUENCY : TIMEBASE_PERIOD,
                      writer->interval);
        if (settings->tracepoint) {
                tracepoint = wire_begin(wire, TIMEBASE_TRACEPOINT);
                wire_put_string(wire, TRACEPOINT_NAME, settings->tracepoint);
                if (settings->filter)
                        wire_put_string(wire, TRACEPOINT_FILTER, settings->filter);
                wire_end(wire, tracepoint);
        } else if (settings->counter > 0) {
                wire_put_uint(wire, TIMEBASE_COUNTER, settings->counter);
        }
        wire_end(wire, timebase);
        wire_end(wire, perf);
}

static void encode_weight(const PerfWriter *writer, WireWriter *wire) {
        const PerfWeight *weight = &writer->settings->weight;
        const size_t defaults = wire_begin(wire, DEFAULTS_STACK_SAMPLE);
        size_t descriptor;

        wire_put_string(wire, STACK_DEFAULTS_SOURCE, weight->source);
        descriptor = wire_begin(wire, STACK_DEFAULTS_DESCRIPTOR);
        wire_put_string(wire, DESCRIPTOR_NAME, weight->name);
        wire_put_uint(wire, DESCRIPTOR_UNIT, weight->unit);
        wire_end(wire, descriptor);
        wire_end(wire, defaults);
}

static void tell(PerfWriter *writer, uint64_t time_ns) {
        WireWriter *wire = packet_begin(&writer->packets);
        size_t defaults;

        stack_table_clear(&writer->stacks);
        perf_names_clear(&writer->names);
        wire_put_uint(wire, PACKET_TIMESTAMP, time_ns);
        wire_put_uint(wire, PACKET_TIMESTAMP_CLOCK_ID, writer->settings->clock_id);
        wire_put_uint(wire, PACKET_SEQUENCE_FLAGS, PACKET_STATE_CLEARED);
        defaults = wire_begin(wire, PACKET_DEFAULTS);
        wire_put_uint(wire, DEFAULTS_CLOCK_ID, writer->settings->clock_id);
        encode_timebase(writer, wire);
        if (writer->settings->weight.source)
                encode_weight(writer, wire);
        wire_end(wire, defaults);
        writer->is_told = packet_end(&writer->packets) >= 0;
}

void perf_writer_begin(PerfWriter *writer, uint64_t time_ns) {
        if (!writer->is_told || !stack_table_has_room(&writer->stacks))
                tell(writer, time_ns);
        stack_table_begin(&writer->stacks);
}

/*
 * Samples
 */

static WireWriter *begin(PerfWriter *writer, uint64_t time_ns) {
        WireWriter *wire = packet_begin(&writer->packets);
        const uint8_t *interned;
        size_t n_interned;

        wire_put_uint(wire, PACKET_TIMESTAMP, time_ns);
        wire_put_uint(wire, PACKET_SEQUENCE_FLAGS, PACKET_NEEDS_STATE);
        interned = stack_table_interned(&writer->stacks, &n_interned);
        if (interned)
                wire_put_bytes(wire, PACKET_INTERNED_DATA, interned, n_interned);
        return wire;
}

/* If the packet was not written, the stacks that it described are unknown to the trace: describe them again. */
static void end(PerfWriter *writer, WireWriter *wire, size_t message) {
        wire_end(wire, message);
        if (packet_end(&writer->packets) < 0)
                perf_writer_clear(writer);
}

void perf_writer_sample(PerfWriter *writer, const PerfMoment *moment) {
        const uint32_t callstack = stack_table_end(&writer->stacks);
        WireWriter *wire = begin(writer, moment->time_ns);
        const size_t message = wire_begin(wire, PACKET_PERF_SAMPLE);

        wire_put_uint(wire, SAMPLE_CPU, moment->cpu);
        wire_put_uint(wire, SAMPLE_PID, (uint32_t)moment->pid);
        wire_put_uint(wire, SAMPLE_TID, (uint32_t)moment->tid);
        if (callstack > 0)
                wire_put_uint(wire, SAMPLE_CALLSTACK, callstack);
        wire_put_uint(wire, SAMPLE_CPU_MODE, moment->mode);
        if (moment->error != UNWIND_ERROR_NONE)
                wire_put_uint(wire, SAMPLE_UNWIND_ERROR, moment->error);
        end(writer, wire, message);
}

static const char *error_name(UnwindError error) {
        static const char *const names[] = {
                [UNWIND_ERROR_MEMORY] = "memory_invalid",
                [UNWIND_ERROR_UNWIND_INFO] = "unwind_info",
                [UNWIND_ERROR_MAP] = "invalid_map",
                [UNWIND_ERROR_MAX_FRAMES] = "max_frames_exceeded",
                [UNWIND_ERROR_ELF] = "invalid_elf",
                [UNWIND_ERROR_ARCHITECTURE] = "bad_arch",
        };

        return names[error];
}

static void encode_task(WireWriter *wire, const PerfMoment *moment) {
        const size_t task = wire_begin(wire, STACK_TASK);

        wire_put_uint(wire, TASK_PID, (uint32_t)moment->pid);
        wire_put_uint(wire, TASK_TID, (uint32_t)moment->tid);
        wire_end(wire, task);
}

static void encode_execution(WireWriter *wire, const PerfMoment *moment) {
        const size_t execution = wire_begin(wire, STACK_EXECUTION);

        wire_put_uint(wire, EXECUTION_CPU, moment->cpu);
        wire_put_uint(wire,
                      EXECUTION_MODE,
                      moment->mode == PERF_RECORD_MISC_KERNEL ? MODE_KERNEL : MODE_USER);
        wire_end(wire, execution);
}

void perf_writer_weigh(PerfWriter *writer, const PerfMoment *moment, uint64_t weight) {
        const uint32_t callstack = stack_table_end(&writer->stacks);
        WireWriter *wire = begin(writer, moment->time_ns);
        const size_t message = wire_begin(wire, PACKET_STACK_SAMPLE);

        encode_task(wire, moment);
        encode_execution(wire, moment);
        if (callstack > 0)
                wire_put_uint(wire, STACK_CALLSTACK, callstack);
        if (moment->error != UNWIND_ERROR_NONE)
                wire_put_string(wire, STACK_UNWIND_ERROR, error_name(moment->error));
        wire_put_uint(wire, STACK_WEIGHT, weight * writer->interval);
        end(writer, wire, message);
}

/*
 * Losses
 */

static void
write_count(PerfWriter *writer, uint32_t cpu, uint64_t time_ns, uint32_t field, uint64_t value) {
        WireWriter *wire;
        size_t message;

        perf_writer_begin(writer, time_ns);
        wire = begin(writer, time_ns);
        message = wire_begin(wire, PACKET_PERF_SAMPLE);
        wire_put_uint(wire, SAMPLE_CPU, cpu);
        wire_put_uint(wire, field, value);
        end(writer, wire, message);
}

void perf_writer_loss(PerfWriter *writer, uint32_t cpu, uint64_t time_ns, uint64_t n) {
        write_count(writer, cpu, time_ns, SAMPLE_RECORDS_LOST, n);
}

void perf_writer_skip(PerfWriter *writer, uint32_t cpu, uint64_t time_ns) {
        write_count(writer, cpu, time_ns, SAMPLE_SKIPPED_REASON, SKIPPED_ENQUEUE);
}
