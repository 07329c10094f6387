/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Losses: what the service, the kernel and the loss marks say, and the verdict over all of it.
 */

#include <stddef.h>
#include <string.h>

#include "client/trace-state.h"

#define PHASE_START 1
#define PHASE_END   2

#define FINAL_FLUSH_FAILED 2

/* perfetto.protos.TraceStats: field number → where it goes. */
typedef struct StatField {
        uint32_t number;
        size_t offset;
} StatField;

static const StatField buffer_fields[] = {
        { 1, offsetof(TraceBufferLosses, n_bytes_written) },
        { 3, offsetof(TraceBufferLosses, n_chunks_overwritten) },
        { 6, offsetof(TraceBufferLosses, n_patches_failed) },
        { 9, offsetof(TraceBufferLosses, n_abi_violations) },
        { 13, offsetof(TraceBufferLosses, n_bytes_overwritten) },
        { 14, offsetof(TraceBufferLosses, n_bytes_read) },
        { 18, offsetof(TraceBufferLosses, n_chunks_discarded) },
        { 19, offsetof(TraceBufferLosses, n_writer_losses) },
};

static const StatField service_fields[] = {
        { 8, offsetof(TraceServiceStats, n_chunks_discarded) },
        { 9, offsetof(TraceServiceStats, n_patches_discarded) },
        { 10, offsetof(TraceServiceStats, n_invalid_packets) },
        { 14, offsetof(TraceServiceStats, n_flushes_failed) },
};

static void
stat_take(void *stats, const StatField *fields, size_t n_fields, const WireField *field) {
        for (size_t i = 0; i < n_fields; i++)
                if (fields[i].number == field->number && field->type == WIRE_VARINT)
                        memcpy((char *)stats + fields[i].offset,
                               &field->value,
                               sizeof(field->value));
}

static void stats_add_buffer(TraceServiceStats *stats, const WireField *message) {
        TraceBufferLosses *buffer;
        WireReader reader;
        WireField field;

        if (stats->n_buffers == TRACE_BUFFERS_MAX)
                return;
        buffer = &stats->buffers[stats->n_buffers++];
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                stat_take(buffer, buffer_fields, ARRAY_SIZE(buffer_fields), &field);
}

/* Each snapshot has totals since the start: the last one counts. */
void packet_trace_stats(Packet *packet, const WireField *payload) {
        TraceServiceStats *stats = &packet->summary->stats;
        WireReader reader;
        WireField field;

        *stats = (TraceServiceStats){ .n_snapshots = stats->n_snapshots + 1 };
        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1 && field.type == WIRE_BYTES)
                        stats_add_buffer(stats, &field);
                else if (field.number == 15)
                        stats->final_flush_failed = field.value == FINAL_FLUSH_FAILED;
                else
                        stat_take(stats, service_fields, ARRAY_SIZE(service_fields), &field);
        }
}

static void kernel_cpu_stats(TraceSummary *summary, const WireField *message, size_t phase) {
        uint64_t cpu = 0, overrun = 0, commit_overrun = 0, dropped = 0;
        TraceKernelStats *stats;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        cpu = field.value;
                else if (field.number == 3)
                        overrun = field.value;
                else if (field.number == 4)
                        commit_overrun = field.value;
                else if (field.number == 8)
                        dropped = field.value;
        }
        if (cpu >= TRACE_CPUS_MAX)
                return;
        if (!summary->kernel_stats[cpu])
                summary->kernel_stats[cpu] = g_new0(TraceKernelStats, 1);
        stats = summary->kernel_stats[cpu];
        stats->overrun[phase] = overrun;
        stats->commit_overrun[phase] = commit_overrun;
        stats->dropped[phase] = dropped;
}

static uint64_t kernel_stats_phase(const WireField *payload) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                if (field.number == 1)
                        return field.value;
        return 0;
}

void packet_ftrace_stats(Packet *packet, const WireField *payload) {
        uint64_t phase = kernel_stats_phase(payload);
        WireReader reader;
        WireField field;

        if (phase != PHASE_START && phase != PHASE_END)
                return;
        packet->summary->kernel_stats_phases |= (uint8_t)phase;
        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                if (field.number == 2 && field.type == WIRE_BYTES)
                        kernel_cpu_stats(packet->summary, &field, phase == PHASE_END);
}

static uint64_t delta(const uint64_t values[2]) {
        return values[1] > values[0] ? values[1] - values[0] : 0;
}

static void add_loss(TraceSummary *summary, const char *kind, const char *text, uint64_t n) {
        TraceLoss loss = { kind, text, n };

        if (n)
                g_array_append_val(summary->losses, loss);
}

static void add_doubt(TraceSummary *summary, bool applies, const char *text) {
        if (applies)
                g_ptr_array_add(summary->doubts, (gpointer)text);
}

static void losses_of_file(TraceSummary *summary) {
        add_loss(summary,
                 "file_damaged",
                 N_("the file is cut short or damaged"),
                 summary->end != TRACE_END_COMPLETE);
        add_loss(summary,
                 "malformed_packets",
                 N_("packets that cannot be decoded"),
                 summary->n_malformed);
        add_loss(summary,
                 "events_without_clock",
                 N_("events with times of a clock that the file does not relate to the others"),
                 summary->n_unknown_clock);
        add_loss(summary,
                 "events_without_names",
                 N_("events that refer to names or times that are not in the file"),
                 summary->n_unknown_names);
        add_loss(summary,
                 "packets_after_loss",
                 N_("gaps where packets of a writer are missing"),
                 summary->n_packets_after_loss +
                         (summary->streams_to_file ? summary->n_packets_after_overwrite : 0));
}

static void losses_of_kernel(TraceSummary *summary) {
        uint64_t n_overrun = 0, n_dropped = 0;

        for (size_t i = 0; i < TRACE_CPUS_MAX; i++) {
                const TraceKernelStats *stats = summary->kernel_stats[i];

                if (!stats)
                        continue;
                n_overrun += delta(stats->overrun) + delta(stats->commit_overrun);
                n_dropped += delta(stats->dropped);
        }
        add_loss(summary,
                 "kernel_bundles_lost",
                 N_("gaps in the kernel's events"),
                 summary->n_kernel_bundles_lost);
        add_loss(summary,
                 "stack_records_lost",
                 N_("records of call stacks for which the kernel had no room"),
                 summary->n_stack_records_lost);
        add_loss(summary,
                 "kernel_events_overrun",
                 N_("kernel events overwritten before they were read"),
                 n_overrun);
        add_loss(summary,
                 "kernel_events_dropped",
                 N_("kernel events dropped by the kernel"),
                 n_dropped);
}

static TraceBufferLosses buffers_sum(const TraceServiceStats *stats) {
        TraceBufferLosses sum = { 0 };

        for (size_t i = 0; i < stats->n_buffers; i++) {
                const TraceBufferLosses *buffer = &stats->buffers[i];

                sum.n_chunks_overwritten += buffer->n_chunks_overwritten;
                sum.n_chunks_discarded += buffer->n_chunks_discarded;
                sum.n_patches_failed += buffer->n_patches_failed;
                sum.n_abi_violations += buffer->n_abi_violations;
                sum.n_writer_losses += buffer->n_writer_losses;
        }
        return sum;
}

static void losses_of_service(TraceSummary *summary) {
        const TraceServiceStats *stats = &summary->stats;
        TraceBufferLosses sum = buffers_sum(stats);

        /* A ring forgets its oldest data; when it is read out continuously, that is a loss. */
        if (summary->streams_to_file)
                add_loss(summary,
                         "chunks_overwritten",
                         N_("chunks overwritten before they were written out"),
                         sum.n_chunks_overwritten);
        else
                summary->n_overwritten = sum.n_chunks_overwritten;
        add_loss(summary,
                 "chunks_discarded",
                 N_("chunks that came when a buffer was full, or too late"),
                 sum.n_chunks_discarded);
        add_loss(summary,
                 "chunks_misdirected",
                 N_("chunks for a buffer that their program may not write to"),
                 stats->n_chunks_discarded);
        add_loss(summary,
                 "writer_losses",
                 N_("times a program had no room for its packets"),
                 sum.n_writer_losses);
        add_loss(summary,
                 "patches_failed",
                 N_("packets that could not be completed"),
                 sum.n_patches_failed + stats->n_patches_discarded);
        add_loss(summary,
                 "invalid_packets",
                 N_("packets that the service refused"),
                 stats->n_invalid_packets);
        add_loss(summary,
                 "abi_violations",
                 N_("violations of the shared-memory protocol"),
                 sum.n_abi_violations);
}

static void find_doubts(TraceSummary *summary) {
        bool has_kernel = summary->sources[0].n_packets > 0;

        add_doubt(summary,
                  summary->stats.n_snapshots == 0,
                  N_("the service's statistics are not in the file"));
        add_doubt(summary,
                  summary->stats.final_flush_failed,
                  N_("a program did not hand over its last packets in time"));
        add_doubt(summary,
                  has_kernel && summary->kernel_stats_phases != (PHASE_START | PHASE_END),
                  N_("the kernel's statistics are not in the file"));
        add_doubt(summary, summary->n_compressed > 0, N_("compressed packets are not looked into"));
}

void trace_losses_finish(TraceSummary *summary) {
        losses_of_file(summary);
        losses_of_kernel(summary);
        losses_of_service(summary);
        find_doubts(summary);
        if (summary->losses->len)
                summary->verdict = TRACE_VERDICT_LOST;
        else
                summary->verdict =
                        summary->doubts->len ? TRACE_VERDICT_UNKNOWN : TRACE_VERDICT_NONE;
}

void trace_summary_add_loss(TraceSummary *summary, const char *kind, const char *text, uint64_t n) {
        add_loss(summary, kind, text, n);
        if (n > 0)
                summary->verdict = TRACE_VERDICT_LOST;
}

const char *trace_verdict_name(TraceVerdict verdict) {
        static const char *const names[] = {
                [TRACE_VERDICT_NONE] = "none",
                [TRACE_VERDICT_LOST] = "lost",
                [TRACE_VERDICT_UNKNOWN] = "unknown",
        };

        return names[verdict];
}

const char *trace_end_name(TraceEnd end) {
        static const char *const names[] = {
                [TRACE_END_COMPLETE] = "complete",
                [TRACE_END_TRUNCATED] = "truncated",
                [TRACE_END_GARBAGE] = "garbage",
        };

        return names[end];
}
