/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Reads packets as a trace viewer would: interned names, incremental clocks, defaults
 *
 * One TraceSequence for each writer. What a viewer could not make sense of (a number that was not interned, an
 * event before the first cleared state) fails the test.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_EVENTS_MAX    4096
#define TRACE_TRACKS_MAX    2048
#define TRACE_NAMES_MAX     2048
#define TRACE_SEQUENCES_MAX 4096 /* as many as there are writer ids */

/* What is interned. */
enum {
        TRACE_CATEGORIES,
        TRACE_NAMES,
        TRACE_ARG_NAMES,
        TRACE_LOCATIONS,
        TRACE_LOGS,
        TRACE_VALUES,
        TRACE_KINDS,
};

typedef struct TraceEvent {
        unsigned type;
        char name[64], category[64];
        char args[512]; /* "name=value" with blanks between, {} for dictionaries, [] for arrays */
        uint64_t uuid, ns;
        int64_t int_value;
        double double_value;
        size_t n_packet;
        size_t n_text; /* bytes of the last text argument */
        unsigned sequence;
} TraceEvent;

typedef struct TraceTrack {
        uint64_t uuid, parent;
        char name[64], thread_name[64], unit[32];
        int pid, tid, process_pid;
        unsigned n_cmdline;
        char details
                [512]; /* "field=value" of all other fields, with blanks between; inner ones with a dot */
        bool is_counter, is_states;
        bool is_incremental; /* values are told as differences, from one sequence */
        unsigned sequence, n_starts;
        double sum;
        unsigned n_described;
} TraceTrack;

typedef struct TraceSequence {
        bool valid;
        unsigned n_starts, n_first, n_lost;
        uint64_t ns, default_uuid;
        char *names[TRACE_KINDS][TRACE_NAMES_MAX];
} TraceSequence;

typedef struct Trace {
        TraceEvent events[TRACE_EVENTS_MAX];
        size_t n_events;
        size_t n_seen;  /* events, kept or not */
        bool only_last; /* keep no more than one event */
        TraceTrack tracks[TRACE_TRACKS_MAX];
        size_t n_tracks;
        TraceSequence
                *sequences[TRACE_SEQUENCES_MAX]; /* by writer id; NULL before the first packet */
} Trace;

Trace *trace_free(Trace *trace);
void trace_packet(Trace *trace, unsigned sequence, const uint8_t *packet, size_t n_bytes);

TraceSequence *trace_sequence(Trace *trace, unsigned number);
TraceTrack *trace_track(Trace *trace, uint64_t uuid);
TraceTrack *trace_track_named(Trace *trace, const char *name);
TraceEvent *trace_event(Trace *trace, unsigned type, const char *name);
unsigned trace_n_events(const Trace *trace, unsigned type, const char *name);
