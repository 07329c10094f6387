/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace summary: what is in a trace file
 *
 * Takes packets in file order and keeps counts, names and times, never the packets. Nothing in a
 * file is believed: every table has the one bound TRACE_SUMMARY_ENTRIES_MAX, names are cut to
 * TRACE_NAME_BYTES_MAX, made valid UTF-8 and cleared of control characters, and what did not fit is
 * counted in n_omitted.
 *
 * It says that nothing was lost only when the file proves it: it is whole, the service's last
 * statistics are in it, none of them, of the loss marks in the packets and of the kernel's
 * counters tells of a loss, and each event could be decoded.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/macro.h"
#include "trace/trace-bundle.h"

#define TRACE_SUMMARY_ENTRIES_MAX (1u << 20)  /* of all tables together */
#define TRACE_SUMMARY_NAMES_MAX   (16u << 20) /* bytes of all names together */
#define TRACE_SUMMARY_CONFIG_MAX  (1u << 20)
#define TRACE_NAME_BYTES_MAX      256
#define TRACE_NOTES_MAX           1024
#define TRACE_NOTE_BYTES_MAX      768
#define TRACE_CLOCKS_MAX          16
#define TRACE_BUFFERS_MAX         128

/* A kind of packet, and the data source that writes it ("" for the service itself). */
typedef struct TraceSource {
        const char *kind;
        const char *data_source;
        uint64_t n_packets;
        uint64_t n_bytes;
        uint64_t n_events; /* kernel events in bundles, otherwise packets */
} TraceSource;

/* A process that wrote packets, as the service attests it. */
typedef struct TraceProducer {
        int32_t uid;
        int32_t pid; /* 0: unknown */
        uint64_t n_packets;
        uint64_t n_bytes;
        uint64_t n_losses; /* packets marked as following a loss */
        uint32_t n_sequences;
} TraceProducer;

typedef struct TraceThread {
        int32_t tid;
        int32_t pid;      /* of its process; 0: unknown */
        const char *name; /* or NULL */
        uint64_t cpu_ns;
        uint64_t n_switches; /* how many times it got a CPU */
        uint64_t n_slices;
        uint8_t name_rank; /* the source of its name: a better one wins */
} TraceThread;

typedef struct TraceProcess {
        int32_t pid;
        const char *name; /* or NULL */
        /* From Desktrace's own recordings (docs/SOURCES.md). Each may be NULL. */
        const char *unit, *user_unit, *app_id, *container;
        uint64_t cpu_ns;
        uint32_t n_threads; /* threads that this trace knows */
        uint8_t name_rank;
} TraceProcess;

/* When there was no service, according to the next process of it. */
typedef struct TraceAway {
        uint64_t from_ns, until_ns; /* BOOTTIME */
        uint64_t n_lost;            /* packets */
} TraceAway;

typedef struct TraceSlice {
        const char *name;
        const char *category; /* or NULL */
        uint64_t n_slices;    /* that ended */
        uint64_t n_open;      /* slices that did not end in this trace */
        uint64_t n_instants;
        uint64_t total_ns;
        uint64_t max_ns;
} TraceSlice;

typedef struct TraceCounter {
        const char *name;
        const char *unit; /* or NULL */
        uint64_t n_values;
        double min, max, last;
} TraceCounter;

typedef struct TraceNameCount {
        const char *name;
        uint64_t n;
} TraceNameCount;

typedef struct TraceClock {
        uint32_t id;
        uint64_t n_snapshots;
        uint64_t first_ns, last_ns;
} TraceClock;

/* perfetto.protos.TraceStats.BufferStats, as far as it is about losses. */
typedef struct TraceBufferLosses {
        uint64_t n_chunks_overwritten, n_chunks_discarded, n_patches_failed, n_abi_violations;
        uint64_t n_writer_losses;
} TraceBufferLosses;

typedef struct TraceServiceStats {
        uint64_t n_snapshots;
        TraceBufferLosses buffers[TRACE_BUFFERS_MAX];
        size_t n_buffers;
        uint64_t n_invalid_packets, n_chunks_discarded, n_patches_discarded, n_flushes_failed;
        bool final_flush_failed;
} TraceServiceStats;

/* The kernel's own counters for each CPU, at the start and the end. */
typedef struct TraceKernelStats {
        uint64_t overrun[2], commit_overrun[2], dropped[2];
} TraceKernelStats;

typedef struct TraceSystem {
        const char *sysname, *release, *version, *machine, *service_version;
        uint32_t n_cpus;
} TraceSystem;

typedef enum TraceEnd {
        TRACE_END_COMPLETE,
        TRACE_END_TRUNCATED,
        TRACE_END_GARBAGE,
} TraceEnd;

typedef enum TraceVerdict {
        TRACE_VERDICT_NONE, /* proven */
        TRACE_VERDICT_LOST,
        TRACE_VERDICT_UNKNOWN, /* there is no sign of a loss, but no proof that there was none */
} TraceVerdict;

typedef struct TraceLoss {
        const char *kind; /* stable, for programs */
        const char *text; /* for people, untranslated; NULL */
        uint64_t n;
} TraceLoss;

typedef struct TraceSummary {
        uint64_t n_bytes;
        uint64_t n_packets;
        uint64_t n_malformed; /* packets that are not protobuf messages */
        uint64_t n_omitted;   /* names and things past the bounds above */
        TraceEnd end;
        uint64_t end_offset;

        /* Trace time, which is BOOTTIME unless the file says otherwise (trace-clock.h), of events;
         * equal and 0 when there are none. */
        uint64_t first_ns, last_ns;
        uint64_t first_data_ns;          /* likewise, but only for what producers wrote */
        uint64_t started_ns, stopped_ns; /* as the service says; 0: it does not */
        uint64_t trace_uuid[2];
        TraceSystem system;
        TraceClock clocks[TRACE_CLOCKS_MAX];
        size_t n_clocks;
        bool has_realtime;
        uint64_t realtime_ahead_ns; /* of trace time */
        bool is_clone;              /* the session went on after it */
        GByteArray *config;         /* serialized TraceConfig, or NULL */

        TraceSource *sources;  /* by trace_source_count() */
        GHashTable *producers; /* → TraceProducer; likewise below */
        GHashTable *threads;
        GHashTable *processes;
        GHashTable *slices;
        GHashTable *counters;
        GHashTable *kernel_events; /* → TraceNameCount */

        GArray *away;            /* of TraceAway */
        GPtrArray *notes;        /* of char *: "data source: what it did not record" */
        uint64_t n_track_events; /* of programs, without events on tracks that belong to none */
        uint64_t n_stack_records_lost; /* the kernel lost them because it had no room */
        uint64_t n_unmatched_ends;     /* slice ends without a begin */
        uint64_t n_misordered;         /* begins and ends that came too late to be put in order */
        /* Events, and other packets with a time, that cannot be used: */
        uint64_t n_unknown_clock; /* no clock snapshot says what their time is */
        uint64_t n_unknown_names; /* they refer to something that the file does not have */
        uint64_t n_forgotten; /* likewise, but a ring had to forget it, or a snapshot left it out */

        TraceServiceStats stats;
        TraceKernelStats *kernel_stats[TRACE_CPUS_MAX];
        uint8_t kernel_stats_phases; /* bit 0: start seen, bit 1: end seen */
        uint64_t n_kernel_bundles_lost;
        uint64_t n_packets_after_loss;      /* previous_packet_dropped */
        uint64_t n_packets_after_overwrite; /* likewise, but only for what a ring forgot */
        uint64_t n_compressed;
        bool streams_to_file;

        TraceVerdict verdict;
        GArray *losses;         /* of TraceLoss */
        GPtrArray *doubts;      /* of const char *: why there is no proof */
        uint64_t n_overwritten; /* chunks that a ring buffer overwrote, as configured */
        uint64_t n_left_out;    /* times that a source left out events, as there were too many */

        struct TraceState *state; /* of reading; private */
} TraceSummary;

TraceSummary *trace_summary_new(void);
TraceSummary *trace_summary_free(TraceSummary *summary);
DEFINE_CLEANUP(TraceSummary *, trace_summary_free)

void trace_summary_add(TraceSummary *summary, const uint8_t *packet, size_t n_packet);

/* Matches all begins and ends of slices now, instead of waiting for others that may belong between them. For callers
 * that follow a session, after a flush. */
void trace_summary_settle(TraceSummary *summary);

/* The file has ended: closes what is open, and gives the verdict. Nothing can be added afterwards. */
void trace_summary_finish(TraceSummary *summary, TraceEnd end, uint64_t end_offset);

/* Reads a whole file from a descriptor. Returns 0 or the errno of reading. */
int trace_summary_read(TraceSummary **ret, int fd);

size_t trace_source_count(void);

/* Whether there are samples of call stacks. */
bool trace_summary_has_stacks(const TraceSummary *summary);
/* Whether there are dumps of programs' heaps. */
bool trace_summary_has_heaps(const TraceSummary *summary);

/* A hash table's values, sorted; free with g_ptr_array_unref(). */
GPtrArray *trace_summary_sorted(GHashTable *table, GCompareFunc compare);
uint64_t trace_summary_n_kernel_events(const TraceSummary *summary);
/* The duration of the recording or, if the file does not have that, of its contents. */
uint64_t trace_summary_duration_ns(const TraceSummary *summary);
/* The time by REALTIME when the recording began; 0: unknown. */
uint64_t trace_summary_start_realtime_ns(const TraceSummary *summary);
/* The number of things that could not be decoded. */
uint64_t trace_summary_n_undecodable(const TraceSummary *summary);
/* Converts a time of the boot clock to trace time. Returns 0 if the file does not relate them. */
uint64_t trace_summary_of_boottime(const TraceSummary *summary, uint64_t boottime_ns);
/* The name of a process or thread, or NULL. */
const char *trace_summary_process_name(const TraceSummary *summary, int32_t pid);
/* Adds a loss that the file does not report to the verdict, which that may change. The strings stay valid. `text` is
 * translated where it is printed. */
void trace_summary_add_loss(TraceSummary *summary, const char *kind, const char *text, uint64_t n);

const char *trace_verdict_name(TraceVerdict verdict);
const char *trace_end_name(TraceEnd end);
