/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace state: what has to be remembered while a trace file is read
 *
 * It is shared by trace-summary.c, which decodes packets, and the files that know one data source each. It lives as
 * long as its summary, because it owns the names.
 */

#include "client/trace-summary.h"
#include "trace/trace-clock.h"
#include "trace/trace-packet.h"
#include "trace/trace-sequence.h"
#include "trace/trace-track-event.h"

#define TRACE_EVENT_WINDOW \
        (1u << 18) /* begins and ends of slices that are put in order at a time */

/* One writer's stream of packets. */
typedef struct Sequence {
        TraceSequence *told;
        TraceProducer *producer;
        bool lost_state;   /* what packets refer to was lost since the sequence last began again, */
        bool forgot_state; /* or overwritten by a ring */
} Sequence;

typedef struct OpenSlice {
        TraceSlice *slice;
        uint64_t since_ns;
} OpenSlice;

/* Names a track of the nestable asynchronous events of TrackEvent.LegacyEvent, which need no descriptor. Keys are
 * compared byte by byte: there is no padding in it. */
typedef struct AsyncId {
        uint64_t id;
        uint64_t scope;   /* address of a name: id_scope, or else the category */
        int64_t owner;    /* the process that a local id belongs to; -1: any other kind of id */
        uint64_t is_kind; /* field number of the id */
} AsyncId;

typedef struct Track {
        uint64_t uuid;
        AsyncId async_id;      /* identifies a track that has no uuid */
        TraceThread *thread;   /* or NULL */
        TraceCounter *counter; /* or NULL */
        const char
                *group; /* for a track that only holds others: its names from the top on; or NULL */
        bool is_of_machine; /* it belongs to no program, according to its description: the probes' counters */
        OpenSlice *open;
        size_t n_open, n_allocated;
        uint64_t n_too_deep; /* begins past TRACE_SLICE_DEPTH_MAX, still open */
        uint64_t matched_ns; /* the time of the latest of its events that were matched */
} Track;

typedef struct TrackEvent {
        uint64_t at_ns;
        Track *track;
        TraceSlice *slice; /* NULL: an end */
} TrackEvent;

typedef struct CpuState {
        int32_t tid; /* that runs */
        bool is_known;
        uint64_t since_ns;
} CpuState;

struct TraceState {
        GHashTable *names;   /* → number; the address of a name is the name */
        GPtrArray *numbered; /* the names by their numbers */
        size_t n_name_bytes;
        uint64_t n_entries;
        TraceSequences told;
        GPtrArray *sequences;     /* of Sequence *, by their numbers */
        TraceMap track_numbers;   /* uuid → place in tracks */
        GPtrArray *tracks;        /* of Track * */
        GHashTable *async_tracks; /* AsyncId → Track */
        GArray *events;           /* of TrackEvent: a window that is still out of order */
        GArray *merged;           /* memory for putting them in order */
        GHashTable
                *generic_events; /* field number → name, of events with a description in the file */
        CpuState cpus[TRACE_CPUS_MAX];
        uint64_t last_kernel_ns;
        TraceClocks *clocks;
        TraceSource *last_source;
        bool in_service_packet; /* the packet being read is the service's own */
};

/* Whether a packet has a time, or why it has none. */
typedef enum PacketTime {
        PACKET_TIME_NONE, /* it says none */
        PACKET_TIME_KNOWN,
        PACKET_TIME_UNKNOWN,   /* it is by a clock that no snapshot relates to trace time */
        PACKET_TIME_LOST,      /* it counts from a time that was lost */
        PACKET_TIME_FORGOTTEN, /* likewise, but that time is as old as what a ring has overwritten */
} PacketTime;

typedef struct Packet {
        TraceSummary *summary;
        Sequence *sequence;
        uint64_t at_ns; /* trace time; 0: none, or not known */
        PacketTime time;
} Packet;

/* Whether what the packet refers to is missing because a ring was meant to forget it, or a snapshot to leave it out. */
static inline bool packet_is_behind_forgotten(const Packet *packet) {
        const Sequence *sequence = packet->sequence;

        return !sequence->told->is_valid && !sequence->lost_state &&
               (sequence->forgot_state || packet->summary->is_clone);
}

/* Whether one more entry may be made. Counts the entry, or what is left out. */
bool trace_state_may_grow(TraceSummary *summary);

/* A name from the file, which is checked, cut, and kept once. Never NULL. */
const char *trace_state_name(TraceSummary *summary, const void *data, size_t n);

/* The number of a name, for TraceSequences; and a name by it. */
uint32_t trace_state_add_name(void *summary, const void *data, size_t n);

static inline const char *trace_state_numbered_name(const TraceSummary *summary, uint32_t number) {
        return g_ptr_array_index(summary->state->numbered, number);
}

static inline const char *trace_state_field_name(TraceSummary *summary, const WireField *field) {
        return trace_state_name(summary, field->data, field->n_bytes);
}

/* Returns NULL if there is no room left. */
TraceThread *trace_state_thread(TraceSummary *summary, int32_t tid);
TraceProcess *trace_state_process(TraceSummary *summary, int32_t pid);
TraceCounter *trace_state_counter(TraceSummary *summary, const char *name, const char *unit);
void trace_counter_add(TraceCounter *counter, double value);
void trace_state_count_name(TraceSummary *summary, GHashTable *table, const char *name, uint64_t n);

/* The origin of a name. The larger one wins, and of equal ones the later. */
enum {
        NAME_RANK_NONE,
        NAME_RANK_SCHED,
        NAME_RANK_PROCFS,
        NAME_RANK_DESCRIPTOR,
};

void trace_thread_set_name(TraceThread *thread, const char *name, uint8_t rank);
void trace_process_set_name(TraceProcess *process, const char *name, uint8_t rank);

void trace_state_saw_time(TraceSummary *summary, uint64_t ns);

/* One for each kind of payload. */
void packet_ftrace(Packet *packet, const WireField *payload);
void packet_perf_sample(Packet *packet, const WireField *payload);
void packet_stack_sample(Packet *packet, const WireField *payload);
void packet_process_tree(Packet *packet, const WireField *payload);
void packet_clock_snapshot(Packet *packet, const WireField *payload);
void packet_sys_stats(Packet *packet, const WireField *payload);
void packet_track_event(Packet *packet, const WireField *payload);
void packet_trace_config(Packet *packet, const WireField *payload);
void packet_ftrace_stats(Packet *packet, const WireField *payload);
void packet_trace_stats(Packet *packet, const WireField *payload);
void packet_system_info(Packet *packet, const WireField *payload);
void packet_compressed(Packet *packet, const WireField *payload);
void packet_track_descriptor(Packet *packet, const WireField *payload);
void packet_service_event(Packet *packet, const WireField *payload);
void packet_trace_uuid(Packet *packet, const WireField *payload);

/* Converts *ns from the clock of that id to trace time; false if the trace does not say how. */
bool trace_state_time(Packet *packet, uint64_t *ns, uint32_t clock_id);

/* Tables of tracks, which they own. */
GPtrArray *trace_tracks_new(void);
GHashTable *trace_async_tracks_new(void);

/* Returns NULL if there is no room left. */
Track *trace_state_track(TraceSummary *summary, uint64_t uuid);
Track *trace_state_async_track(TraceSummary *summary, const AsyncId *id);
TraceSlice *trace_state_slice(TraceSummary *summary, const char *name, const char *category);
Track *track_free(Track *track);

/* The beginning of a slice on the track, or the end of one (NULL), at the packet's time. */
void trace_slice_event(Packet *packet, Track *track, TraceSlice *slice);
/* A slice whose begin and end are both known. */
void trace_slice_add(TraceSlice *slice, uint64_t duration_ns);

/* The end of the file. */
void trace_ftrace_finish(TraceSummary *summary);
void trace_slices_finish(TraceSummary *summary);
void trace_losses_finish(TraceSummary *summary);
