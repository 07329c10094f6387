/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Losses: what the service, the kernel and the loss marks say, and the verdict over all of it.
 */

#include "client/trace-state.h"
#include "trace/trace-stats.h"

static TraceBufferLosses buffer_losses(const WireField *message) {
        uint64_t numbers[_TRACE_BUFFER_STATS];

        trace_buffer_stats_read(numbers, message);
        return (TraceBufferLosses){
                .n_chunks_overwritten = numbers[TRACE_BUFFER_CHUNKS_OVERWRITTEN],
                .n_patches_failed = numbers[TRACE_BUFFER_PATCHES_FAILED],
                .n_abi_violations = numbers[TRACE_BUFFER_ABI_VIOLATIONS],
                .n_chunks_discarded = numbers[TRACE_BUFFER_CHUNKS_DISCARDED],
                .n_writer_losses = numbers[TRACE_BUFFER_WRITER_LOSSES],
        };
}

void packet_trace_stats(Packet *packet, const WireField *payload) {
        TraceServiceStats *stats = &packet->summary->stats;
        uint64_t numbers[_TRACE_STATS];
        WireReader reader;
        WireField buffer;

        trace_stats_read(numbers, payload);
        *stats = (TraceServiceStats){
                .n_snapshots = stats->n_snapshots + 1,
                .n_chunks_discarded = numbers[TRACE_STAT_CHUNKS_DISCARDED],
                .n_patches_discarded = numbers[TRACE_STAT_PATCHES_DISCARDED],
                .n_invalid_packets = numbers[TRACE_STAT_INVALID_PACKETS],
                .n_flushes_failed = numbers[TRACE_STAT_FLUSHES_FAILED],
                .final_flush_failed = numbers[TRACE_STAT_FINAL_FLUSH] == TRACE_FINAL_FLUSH_FAILED,
        };
        wire_reader_init_field(&reader, payload);
        while (stats->n_buffers < TRACE_BUFFERS_MAX && trace_stats_next_buffer(&reader, &buffer))
                stats->buffers[stats->n_buffers++] = buffer_losses(&buffer);
}

static void kernel_cpu_stats(TraceSummary *summary, const uint64_t *numbers, size_t phase) {
        const uint64_t cpu = numbers[TRACE_KERNEL_STAT_CPU];
        TraceKernelStats *stats;

        if (cpu >= TRACE_CPUS_MAX)
                return;
        if (!summary->kernel_stats[cpu])
                summary->kernel_stats[cpu] = g_new0(TraceKernelStats, 1);
        stats = summary->kernel_stats[cpu];
        stats->overrun[phase] = numbers[TRACE_KERNEL_STAT_OVERRUN];
        stats->commit_overrun[phase] = numbers[TRACE_KERNEL_STAT_COMMIT_OVERRUN];
        stats->dropped[phase] = numbers[TRACE_KERNEL_STAT_DROPPED];
}

void packet_ftrace_stats(Packet *packet, const WireField *payload) {
        const TraceStatsPhase phase = trace_kernel_stats_phase(payload);
        uint64_t numbers[_TRACE_KERNEL_STATS];
        WireReader reader;

        if (phase == TRACE_STATS_UNKNOWN)
                return;
        packet->summary->kernel_stats_phases |= (uint8_t)phase;
        wire_reader_init_field(&reader, payload);
        while (trace_kernel_stats_next_cpu(&reader, numbers))
                kernel_cpu_stats(packet->summary, numbers, phase == TRACE_STATS_END);
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
                  has_kernel &&
                          summary->kernel_stats_phases != (TRACE_STATS_START | TRACE_STATS_END),
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
