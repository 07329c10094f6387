/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace statistics: what the service and the kernel counted. Each packet has totals since the start, so only the last
 * one of a kind counts.
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire-reader.h"

/* perfetto.protos.TraceStats, by the numbers of its fields. */
enum {
        TRACE_STAT_PRODUCERS_CONNECTED = 2,
        TRACE_STAT_PRODUCERS_SEEN = 3,
        TRACE_STAT_SOURCES_REGISTERED = 4,
        TRACE_STAT_SOURCES_SEEN = 5,
        TRACE_STAT_SESSIONS = 6,
        TRACE_STAT_BUFFERS = 7,
        TRACE_STAT_CHUNKS_DISCARDED = 8,
        TRACE_STAT_PATCHES_DISCARDED = 9,
        TRACE_STAT_INVALID_PACKETS = 10,
        TRACE_STAT_FLUSHES_REQUESTED = 12,
        TRACE_STAT_FLUSHES_SUCCEEDED = 13,
        TRACE_STAT_FLUSHES_FAILED = 14,
        TRACE_STAT_FINAL_FLUSH = 15,
        _TRACE_STATS,
};

/* Values of TRACE_STAT_FINAL_FLUSH. */
#define TRACE_FINAL_FLUSH_SUCCEEDED 1
#define TRACE_FINAL_FLUSH_FAILED    2

/* TraceStats.BufferStats. */
enum {
        TRACE_BUFFER_BYTES_WRITTEN = 1,
        TRACE_BUFFER_CHUNKS_WRITTEN = 2,
        TRACE_BUFFER_CHUNKS_OVERWRITTEN = 3,
        TRACE_BUFFER_WRITE_WRAPS = 4,
        TRACE_BUFFER_PATCHES_SUCCEEDED = 5,
        TRACE_BUFFER_PATCHES_FAILED = 6,
        TRACE_BUFFER_READAHEADS_SUCCEEDED = 7,
        TRACE_BUFFER_READAHEADS_FAILED = 8,
        TRACE_BUFFER_ABI_VIOLATIONS = 9,
        TRACE_BUFFER_CHUNKS_REWRITTEN = 10,
        TRACE_BUFFER_SIZE = 12,
        TRACE_BUFFER_BYTES_OVERWRITTEN = 13,
        TRACE_BUFFER_BYTES_READ = 14,
        TRACE_BUFFER_CHUNKS_READ = 17,
        TRACE_BUFFER_CHUNKS_DISCARDED = 18,
        TRACE_BUFFER_WRITER_LOSSES = 19,
        _TRACE_BUFFER_STATS,
};

/* FtraceCpuStats. */
enum {
        TRACE_KERNEL_STAT_CPU = 1,
        TRACE_KERNEL_STAT_ENTRIES = 2,
        TRACE_KERNEL_STAT_OVERRUN = 3,
        TRACE_KERNEL_STAT_COMMIT_OVERRUN = 4,
        TRACE_KERNEL_STAT_BYTES = 5,
        TRACE_KERNEL_STAT_DROPPED = 8,
        TRACE_KERNEL_STAT_READ = 9,
        _TRACE_KERNEL_STATS,
};

/* When the kernel's counts were taken. */
typedef enum TraceStatsPhase {
        TRACE_STATS_UNKNOWN,
        TRACE_STATS_START,
        TRACE_STATS_END,
} TraceStatsPhase;

/* Both return a set of bits for the numbers that are there. */
uint64_t trace_stats_read(uint64_t ret[static _TRACE_STATS], const WireField *payload);
uint64_t trace_buffer_stats_read(uint64_t ret[static _TRACE_BUFFER_STATS],
                                 const WireField *message);

TraceStatsPhase trace_kernel_stats_phase(const WireField *payload);

/* Read the next buffer of a TraceStats, and the next CPU of an FtraceStats. Return false after the last one. */
bool trace_stats_next_buffer(WireReader *stats, WireField *ret);
bool trace_kernel_stats_next_cpu(WireReader *stats, uint64_t ret[static _TRACE_KERNEL_STATS]);
