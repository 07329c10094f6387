/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Import: the two passes over a trace file
 *
 * The first pass takes packets apart in the order of the file, because what a packet refers to depends on that order,
 * and puts their events into the queue with trace time. Then the queue returns the events in order of time, and they
 * become rows. Each import-*.c handles the packets of one kind in both passes.
 */

#include "trace/trace-arena.h"
#include "trace/trace-args.h"
#include "trace/trace-clock.h"
#include "trace/trace-heap.h"
#include "trace/trace-import.h"
#include "trace/trace-packet.h"
#include "trace/trace-queue.h"
#include "trace/trace-sched.h"
#include "trace/trace-sequence.h"
#include "trace/trace-slices.h"
#include "trace/trace-stacks.h"
#include "trace/trace-store.h"
#include "trace/trace-threads.h"
#include "trace/trace-track-states.h"
#include "trace/trace-tracks.h"

#define IMPORT_DESCRIPTORS_MAX 65536 /* how many kinds of kernel events a file may describe */
#define IMPORT_RAILS_MAX       4096  /* of energy counters */

/* The lanes of sequences come before those of CPUs. */
#define IMPORT_CPU_RANK (UINT64_C(1) << 32)

/* TraceEntry.kind. */
typedef enum ImportKind {
        IMPORT_SWITCH,  /* compact: a tid, b comm, c prev_state, small priority */
        IMPORT_WAKING,  /* compact: a tid, flags */
        IMPORT_KERNEL,  /* any other event of the kernel: b and c: place in the arena, a: pid */
        IMPORT_BEGIN,   /* a slot, b name, c category, or with flags an ImportExtra */
        IMPORT_END,     /* likewise */
        IMPORT_INSTANT, /* likewise */
        IMPORT_COMPLETE,
        IMPORT_STATE,   /* like IMPORT_BEGIN; name 0: the state ends */
        IMPORT_COUNTER, /* a slot, b and c: bits of the value */
        IMPORT_SAMPLE,  /* b and c: place in the arena */
        IMPORT_WEIGHT,  /* likewise: a sample with one */
        IMPORT_HEAP,    /* likewise */
        IMPORT_PACKET,  /* a: payload's field number; b and c: place in the arena */
} ImportKind;

#define IMPORT_HAS_EXTRA 1

/* Members that few track events have. */
typedef struct ImportExtra {
        uint32_t category;
        uint32_t args;
        int64_t duration_ns;
        uint32_t flow, n_flows; /* in import->flows */
        uint32_t n_ending;      /* this many of them end there: the last ones in the list */
} ImportExtra;

/* A value of a process that is not known yet. */
typedef struct ImportMemory {
        uint32_t utid, member, row;
} ImportMemory;

typedef struct TraceImport {
        TraceStore *store;
        unsigned parts;
        TraceClocks *clocks;
        TraceQueue queue;
        TraceArena arena;
        TraceSequences sequences;
        size_t cpu_lanes[TRACE_CPUS_MAX];
        bool has_switch[TRACE_CPUS_MAX];
        struct ImportCompact *compact[TRACE_CPUS_MAX]; /* for what is packed; or NULL */
        struct ImportCompact *direct;                  /* for what is not; or NULL */
        uint64_t n_bytes_later;
        TraceEntry *
                others; /* of the bundle that is being read: all but switches and wakings in columns */
        size_t n_others, n_others_allocated;
        TraceThreads threads;
        TraceTracks tracks;
        TraceSlices slices;
        TraceTrackStates states;
        TraceSched sched;
        TraceStacks stacks;
        TraceHeap heap;
        TraceArgSets sets;
        TraceArgs args; /* being collected */
        ImportExtra *extras;
        size_t n_extras, n_extras_allocated;
        uint64_t *flows;
        size_t n_flows, n_flows_allocated;
        TraceMap open_flows;    /* id → slice */
        TraceMap descriptors;   /* number of a kernel event → name */
        TraceMap rails;         /* session and number of an energy counter → name */
        TraceMap disks;         /* device → index in the arena of its previous numbers */
        TraceMap memory_owners; /* the kernel's number of a process's memory → utid */
        TraceMap memory_tracks; /* what is counted of whom → its track */
        ImportMemory *memory_later;
        size_t n_memory_later, n_memory_later_allocated;
        uint64_t page_bytes; /* page size of the machine; 0: unknown */
        TraceMap woken;      /* threads whose tids are all that is needed */
        bool has_realtime;
        bool ran_out; /* out of memory, so the rest of the file is left out */
        const TraceImportOptions *options;
        bool wants_threads;    /* there is enough to read */
        uint64_t n_until_look; /* packets or events until the next call of stops() */
        bool was_stopped;
        bool has_switches;
        uint64_t n_packets, n_malformed, n_without_clock, n_without_state, n_after_loss,
                n_unknown_names, n_names_left_out;
} TraceImport;

/* A packet whose common fields have been parsed. */
typedef struct ImportPacket {
        TraceSequence *sequence;
        uint64_t at_ns;
        bool has_time;
        uint32_t clock;
} ImportPacket;

/* Queues an event for the second pass. */
void import_queue(TraceImport *import, size_t lane, const TraceEntry *entry);
/* Likewise, together with bytes that are kept until then. The caller has set a, kind and flags. */
void import_queue_bytes(TraceImport *import,
                        size_t lane,
                        TraceEntry *entry,
                        const WireField *bytes);
void import_queue_packed(TraceImport *import,
                         size_t lane,
                         const WireField *bytes,
                         uint64_t first_ns,
                         uint64_t last_ns);
/* Keeps the bytes, and has the entry say where they are. */
void import_keep_bytes(TraceImport *import, TraceEntry *entry, const WireField *bytes);
/* Returns the bytes that the first pass has kept for the second. */
WireField import_bytes(const TraceImport *import, const TraceEntry *entry);
/* Converts a time of the boot clock to trace time. Returns false if that is unknown. */
bool import_boottime(TraceImport *import, uint64_t *at_ns);

static inline bool import_wants(const TraceImport *import, unsigned parts) {
        return (import->parts & parts) != 0;
}

static inline uint32_t import_text(TraceImport *import, const WireField *field) {
        return trace_pool_add(&import->store->pool, field->data, field->n_bytes);
}

/* Likewise, or 0 if the message that was read has no such field. */
static inline uint32_t import_optional_text(TraceImport *import, const WireField *field) {
        return field->type == WIRE_BYTES ? import_text(import, field) : 0;
}

/* First pass. */
void import_ftrace(TraceImport *import, const ImportPacket *packet, const WireField *bundle);
void import_track_event(TraceImport *import, const ImportPacket *packet, const WireField *event);
void import_track_descriptor(TraceImport *import,
                             const ImportPacket *packet,
                             const WireField *track);
void import_thread_descriptor(TraceImport *import,
                              const ImportPacket *packet,
                              const WireField *thread);
void import_clock_snapshot(TraceImport *import,
                           const ImportPacket *packet,
                           const WireField *snapshot);
void import_system_info(TraceImport *import, const ImportPacket *packet, const WireField *info);
void import_trace_stats(TraceImport *import, const ImportPacket *packet, const WireField *stats);
void import_ftrace_stats(TraceImport *import, const ImportPacket *packet, const WireField *stats);
void import_trace_config(TraceImport *import, const ImportPacket *packet, const WireField *config);
void import_trace_uuid(TraceImport *import, const ImportPacket *packet, const WireField *uuid);
void import_perf_sample(TraceImport *import, const ImportPacket *packet, const WireField *message);
void import_stack_sample(TraceImport *import, const ImportPacket *packet, const WireField *message);
void import_module_symbols(TraceImport *import,
                           const ImportPacket *packet,
                           const WireField *symbols);
void import_profile(TraceImport *import, const ImportPacket *packet, const WireField *profile);
void import_cpu_info(TraceImport *import, const ImportPacket *packet, const WireField *info);

/* Queues the switches and wakings of a bundle, if it has any, together with its other events. */
void import_bundle_end(TraceImport *import, size_t cpu, size_t lane, const WireField *compact);
TraceUnpack import_unpack;
void import_compact_free(TraceImport *import);

/* Second pass. */
void import_finish_woken(TraceImport *import);
void import_finish_heap(TraceImport *import);
void import_finish_memory(TraceImport *import);
void apply_switch(TraceImport *import, uint32_t cpu, const TraceEntry *entry);
void apply_waking(TraceImport *import, uint32_t cpu, const TraceEntry *entry);
void apply_kernel(TraceImport *import, uint32_t cpu, const TraceEntry *entry);
void apply_sample(TraceImport *import, const TraceEntry *entry);
void apply_stack_sample(TraceImport *import, const TraceEntry *entry);
void apply_allocation(TraceImport *import, const TraceEntry *entry);
void apply_track_event(TraceImport *import, const TraceEntry *entry);
void apply_state(TraceImport *import, const TraceEntry *entry);
void apply_counter(TraceImport *import, const TraceEntry *entry);
void apply_process_tree(TraceImport *import, uint64_t at_ns, const WireField *tree);
void apply_process_descriptor(TraceImport *import, uint64_t at_ns, const WireField *process);
void apply_process_stats(TraceImport *import, uint64_t at_ns, const WireField *stats);
void apply_sys_stats(TraceImport *import, uint64_t at_ns, const WireField *stats);
void apply_battery(TraceImport *import, uint64_t at_ns, const WireField *battery);
void apply_power_rails(TraceImport *import, uint64_t at_ns, const WireField *rails);
void apply_journal(TraceImport *import, uint64_t at_ns, const WireField *entry);
void apply_track_descriptor(TraceImport *import, uint64_t at_ns, const WireField *track);

/* The set of an event's arguments, or TRACE_NONE. */
uint32_t
import_event_args(TraceImport *import, const TraceSequence *sequence, const WireField *event);

/* When a process began, in trace time. Zero and negative numbers are ignored. */
void import_process_start(TraceImport *import, uint32_t upid, uint64_t start_ns);

/* Adds a value to a track. */
void import_value(TraceImport *import, uint32_t track, uint64_t at_ns, double value);

/* A counter of the machine. Its type, name, CPU and `value`, whose name is `dimension`, identify its track. */
typedef struct ImportMachineCounter {
        const char *type, *unit, *dimension; /* the last two: or NULL */
        uint32_t name, value, cpu;           /* cpu: or TRACE_NONE */
} ImportMachineCounter;

void import_machine_value(TraceImport *import,
                          uint64_t at_ns,
                          const ImportMachineCounter *counter,
                          double value);
