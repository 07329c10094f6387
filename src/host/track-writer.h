/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track writer: counters and events as tracks that every viewer draws, for data that has no packet type of its own
 *
 * A track (perfetto.protos.TrackDescriptor) is identified by its parent, its kind and its name. Its number is computed
 * from these, so it is the same after a restart. A track is described before its first value, and once more after
 * track_writer_clear(). A counter is only written when its value has changed. One thread, one sequence: all packets go
 * through one PacketWriter, and nothing else in that sequence may be interned.
 *
 * A source that uses it lists PACKET_TRACK_EVENT and PACKET_TRACK_DESCRIPTOR among its packet fields.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/packet-writer.h"

#define TRACKS_MAX 16384 /* in one source; values of further tracks are counted as refused */

/* perfetto.protos.CounterDescriptor.Unit */
typedef enum TrackUnit {
        TRACK_UNIT_NONE = 0,
        TRACK_UNIT_TIME_NS = 1,
        TRACK_UNIT_COUNT = 2,
        TRACK_UNIT_BYTES = 3,
} TrackUnit;

typedef struct TrackSlot {
        uint64_t uuid; /* 0: free */
        bool has_value;
        int64_t value; /* the last one written; for a state, a hash of its name */
} TrackSlot;

typedef struct TrackWriter {
        PacketWriter *packets; /* borrowed */
        uint64_t root;         /* parent of the top level: no other source has the same numbers */
        TrackSlot *slots;      /* the tracks that were described; an open hash table */
        size_t n_slots;        /* a power of two, at least twice n_tracks */
        size_t n_tracks;
        bool says_cleared;  /* the next packet begins the sequence again */
        uint32_t n_cleared; /* how often all descriptions were forgotten */
        uint64_t n_refused;
        uint32_t clock_id; /* the clock of all times; 0: the trace's own */
} TrackWriter;

/* `source` is the data source's name. */
void track_writer_init(TrackWriter *writer, PacketWriter *packets, const char *source);
void track_writer_deinit(TrackWriter *writer);

/* Both return the track's number, and describe the track if that has not been done yet. A `parent` of 0 is the top
 * level. Without memory, or beyond TRACKS_MAX, they return 0. A number may be kept, but the track is only described
 * again if it is asked for again: so ask before each sample. */
uint64_t track_group(TrackWriter *writer, uint64_t parent, const char *name);
uint64_t track_counter(TrackWriter *writer, uint64_t parent, const char *name, TrackUnit unit);

/* The same as track_group(), for tracks that viewers show in the order of their first events. */
uint64_t track_timeline(TrackWriter *writer, uint64_t parent, const char *name);

/* Writes a counter's value at `now_ns`, unless it has not changed. A track of 0 is ignored. */
void track_count(TrackWriter *writer, uint64_t track, uint64_t now_ns, int64_t value);

/* The same for a counter whose values are not whole numbers. */
void track_count_double(TrackWriter *writer, uint64_t track, uint64_t now_ns, double value);

/* An argument of an instant: a text, or, if `text` is NULL, a number. */
typedef struct TrackArgument {
        const char *name, *text;
        int64_t number;
} TrackArgument;

/* The track of a process, by the number that shared/process-uuid.h computes; otherwise the same as track_group(). */
uint64_t track_process(TrackWriter *writer, uint64_t uuid, pid_t pid, const char *name);

/* perfetto.protos.TrackEvent.Type */
typedef enum TrackEventType {
        TRACK_EVENT_BEGIN = 1,
        TRACK_EVENT_END = 2,
        TRACK_EVENT_INSTANT = 3,
} TrackEventType;

typedef struct TrackEvent {
        TrackEventType type;
        uint64_t track, at_ns;
        const char *name, *category; /* NULL: none */
        const TrackArgument *arguments;
        size_t n_arguments;
        /* An arrow leads from the slice that has its number in `out` to the one that has it in `in`, which begins no
         * earlier and is written later. */
        const uint64_t *out, *in;
        size_t n_out, n_in;
} TrackEvent;

/* Writes any event on a track of track_group(). A track of 0 is ignored. Returns false if it was not written. */
bool track_event(TrackWriter *writer, const TrackEvent *event);

/* Writes an instant at `now_ns` on a track of track_group(). A track of 0 is ignored. */
void track_instant(TrackWriter *writer,
                   uint64_t track,
                   uint64_t now_ns,
                   const char *name,
                   const TrackArgument *arguments,
                   size_t n_arguments);

/* Writes an instant with this name, unless the last one on the track had the same name. */
void track_state(TrackWriter *writer, uint64_t track, uint64_t now_ns, const char *name);

/* Writes a slice from `begin_ns` to `end_ns` on a track of track_group(). Slices of one track may not overlap. A
 * track of 0 is ignored. */
void track_slice(TrackWriter *writer,
                 uint64_t track,
                 uint64_t begin_ns,
                 uint64_t end_ns,
                 const char *name);

/* Begin and end a slice; slices of one track may be nested. A track of 0 is ignored. */
void track_begin(TrackWriter *writer, uint64_t track, uint64_t at_ns, const char *name);
void track_end(TrackWriter *writer, uint64_t track, uint64_t at_ns);

/* For ProbeOps.clear_incremental_state. */
void track_writer_clear(TrackWriter *writer);
