/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Builds trace files for tests: packets with trusted fields, as the service writes them. A test says what is in a
 * packet between trace_packet() and trace_packet_end().
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/macro.h"
#include "test.h"
#include "wire/wire-writer.h"

#define PACKET_LOSS_PRESENT   1
#define PACKET_LOSS_OVERWRITE 64

typedef struct TraceBuilder {
        uint8_t memory[1u << 20];
        WireWriter writer;
        size_t packet; /* being written */
} TraceBuilder;

static inline TraceBuilder *trace_builder_new(void) {
        TraceBuilder *builder = calloc(1, sizeof(*builder));

        ck_assert_ptr_nonnull(builder);
        wire_writer_init(&builder->writer, builder->memory, sizeof(builder->memory));
        return builder;
}

static inline WireWriter *trace_packet(TraceBuilder *builder, uint64_t at_ns) {
        builder->packet = wire_begin(&builder->writer, 1);
        if (at_ns)
                wire_put_uint(&builder->writer, 8, at_ns);
        return &builder->writer;
}

/* The trusted fields come last, as in the service's files. */
static inline void
trace_packet_end(TraceBuilder *builder, uint32_t sequence, int32_t pid, uint32_t loss) {
        WireWriter *w = &builder->writer;

        wire_put_int(w, 3, 1000);
        wire_put_uint(w, 10, sequence);
        wire_put_int(w, 79, pid);
        if (loss)
                wire_put_uint(w, 42, loss);
        wire_end(w, builder->packet);
}

static inline void trace_clock(TraceBuilder *builder) {
        static const uint64_t clocks[][2] = { { 6, 1000 }, { 1, 5000001000 }, { 3, 400 } };
        WireWriter *w = trace_packet(builder, 1000);
        size_t snapshot = wire_begin(w, 6);

        for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
                size_t clock = wire_begin(w, 1);

                wire_put_uint(w, 1, clocks[i][0]);
                wire_put_uint(w, 2, clocks[i][1]);
                wire_end(w, clock);
        }
        wire_end(w, snapshot);
        trace_packet_end(builder, 1, 0, 0);
}

/* The service's last word: one buffer, and a number in one of its fields. */
static inline void trace_stats(TraceBuilder *builder, uint32_t buffer_field, uint64_t value) {
        WireWriter *w = trace_packet(builder, 9000);
        size_t stats = wire_begin(w, 35), buffer = wire_begin(w, 1);

        wire_put_uint(w, 12, 65536);
        if (buffer_field)
                wire_put_uint(w, buffer_field, value);
        wire_end(w, buffer);
        wire_end(w, stats);
        trace_packet_end(builder, 1, 0, 0);
}

/* Interned name 1 is "draw", category 1 is "ui"; the default track is `track`. */
static inline void
trace_sequence_start(TraceBuilder *builder, uint32_t sequence, int32_t pid, uint64_t track) {
        WireWriter *w = trace_packet(builder, 0);
        size_t outer, inner;

        wire_put_uint(w, 13, 1);
        outer = wire_begin(w, 59);
        inner = wire_begin(w, 11);
        wire_put_uint(w, 11, track);
        wire_end(w, inner);
        wire_end(w, outer);
        outer = wire_begin(w, 12);
        inner = wire_begin(w, 1);
        wire_put_uint(w, 1, 1);
        wire_put_string(w, 2, "ui");
        wire_end(w, inner);
        inner = wire_begin(w, 2);
        wire_put_uint(w, 1, 1);
        wire_put_string(w, 2, "draw");
        wire_end(w, inner);
        wire_end(w, outer);
        trace_packet_end(builder, sequence, pid, 0);
}

static inline void trace_thread_track(TraceBuilder *builder,
                                      uint32_t sequence,
                                      uint64_t uuid,
                                      int32_t pid,
                                      int32_t tid,
                                      const char *name) {
        WireWriter *w = trace_packet(builder, 0);
        size_t track = wire_begin(w, 60), thread;

        wire_put_uint(w, 1, uuid);
        thread = wire_begin(w, 4);
        wire_put_int(w, 1, pid);
        wire_put_int(w, 2, tid);
        wire_put_string(w, 5, name);
        wire_end(w, thread);
        wire_end(w, track);
        trace_packet_end(builder, sequence, pid, 0);
}

/* A counter, or what only holds others; `parent` may be 0. */
static inline void trace_named_track(TraceBuilder *builder,
                                     uint64_t uuid,
                                     uint64_t parent,
                                     const char *name,
                                     bool is_counter) {
        WireWriter *w = trace_packet(builder, 0);
        size_t track = wire_begin(w, 60);

        wire_put_uint(w, 1, uuid);
        wire_put_string(w, 2, name);
        if (parent)
                wire_put_uint(w, 5, parent);
        if (is_counter)
                wire_end(w, wire_begin(w, 8));
        wire_end(w, track);
        trace_packet_end(builder, 3, 77, 0);
}

/* type 1: begin, 2: end, 3: instant; an end has no name. */
static inline void trace_track_event(TraceBuilder *builder,
                                     uint32_t sequence,
                                     uint64_t at_ns,
                                     uint32_t type,
                                     uint32_t loss) {
        WireWriter *w = trace_packet(builder, at_ns);
        size_t event = wire_begin(w, 11);

        wire_put_uint(w, 9, type);
        if (type != 2) {
                wire_put_uint(w, 3, 1);
                wire_put_uint(w, 10, 1);
        }
        wire_end(w, event);
        trace_packet_end(builder, sequence, 77, loss);
}

/* A bundle of sched_switch in columns: at 2000, to `tid`; 500 ns later, to idle. */
static inline void trace_compact_sched(TraceBuilder *builder,
                                       uint32_t cpu,
                                       uint64_t at_ns,
                                       int32_t tid,
                                       const char *comm,
                                       uint64_t ns,
                                       bool is_lossy) {
        WireWriter *w = trace_packet(builder, 0);
        size_t bundle = wire_begin(w, 1), compact, column;
        const uint64_t columns[][3] = { { 1, at_ns, ns }, { 3, (uint64_t)tid, 0 }, { 6, 0, 1 } };

        wire_put_uint(w, 1, cpu);
        if (is_lossy)
                wire_put_bool(w, 3, true);
        compact = wire_begin(w, 4);
        wire_put_string(w, 5, comm);
        wire_put_string(w, 5, "swapper");
        for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
                column = wire_begin(w, (uint32_t)columns[i][0]);
                wire_put_varint(w, columns[i][1]);
                wire_put_varint(w, columns[i][2]);
                wire_end(w, column);
        }
        wire_end(w, compact);
        wire_end(w, bundle);
        trace_packet_end(builder, 2, 55, 0);
}

static inline void trace_kernel_stats(TraceBuilder *builder, uint32_t phase, uint64_t overrun) {
        WireWriter *w = trace_packet(builder, 0);
        size_t stats = wire_begin(w, 34), cpu;

        wire_put_uint(w, 1, phase);
        cpu = wire_begin(w, 2);
        wire_put_uint(w, 1, 0);
        wire_put_uint(w, 3, overrun);
        wire_end(w, cpu);
        wire_end(w, stats);
        trace_packet_end(builder, 2, 55, 0);
}

static inline int trace_memfd(const void *data, size_t n) {
        int fd = memfd_create("trace", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(pwrite(fd, data, n, 0), (ssize_t)n);
        return fd;
}

/* What was built, or its first n bytes. */
static inline int trace_builder_fd(const TraceBuilder *builder, size_t n) {
        ck_assert(!wire_writer_failed(&builder->writer));
        return trace_memfd(builder->memory, MIN(n, wire_writer_size(&builder->writer)));
}
