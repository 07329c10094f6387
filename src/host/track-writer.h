/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Track writer: counters and events of what has no packet of its own, as tracks that every reader draws
 *
 * A track (perfetto.protos.TrackDescriptor) is known by its parent, its kind and its name, and gets its number from
 * these, so it is the same after a restart. It is described before its first value, and once more after
 * track_writer_clear().
 * A counter is only written when it has changed. One thread, one sequence: all packets go through one PacketWriter,
 * and nothing else of that sequence may be interned.
 *
 * A source that uses it lists PACKET_TRACK_EVENT and PACKET_TRACK_DESCRIPTOR among its packet fields.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/packet-writer.h"

#define TRACKS_MAX 16384 /* of one source; values of further ones are counted as refused */

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
        int64_t value; /* as last written; of a state, a hash */
} TrackSlot;

typedef struct TrackWriter {
        PacketWriter *packets; /* borrowed */
        uint64_t root;         /* parent of the top level: no other source has the same numbers */
        TrackSlot *slots;      /* what was described; an open hash */
        size_t n_slots;        /* a power of two, at least twice n_tracks */
        size_t n_tracks;
        bool says_cleared; /* the next packet begins the sequence again */
        uint64_t n_refused;
} TrackWriter;

/* `source`: the data source's name. */
void track_writer_init(TrackWriter *writer, PacketWriter *packets, const char *source);
void track_writer_deinit(TrackWriter *writer);

/* Both return the track's number and describe it when that has not been done; 0 for `parent` is the top level.
 * Without memory, or beyond TRACKS_MAX, 0. Numbers may be kept, but a track is only described again if it is asked
 * for again: ask before each sample. */
uint64_t track_group(TrackWriter *writer, uint64_t parent, const char *name);
uint64_t track_counter(TrackWriter *writer, uint64_t parent, const char *name, TrackUnit unit);

/* A counter's value at `now_ns`, unless it is what it was. A track of 0 is ignored. */
void track_count(TrackWriter *writer, uint64_t track, uint64_t now_ns, int64_t value);

/* What is said about an instant: a text, or (NULL) a number. */
typedef struct TrackArgument {
        const char *name, *text;
        int64_t number;
} TrackArgument;

/* Something at `now_ns` on a track of track_group(). A track of 0 is ignored. */
void track_instant(TrackWriter *writer,
                   uint64_t track,
                   uint64_t now_ns,
                   const char *name,
                   const TrackArgument *arguments,
                   size_t n_arguments);

/* An instant of that name, unless it was the last one on its track. */
void track_state(TrackWriter *writer, uint64_t track, uint64_t now_ns, const char *name);

/* What lasted from one time to another, on a track that is a group; slices of one track may not overlap. A track of 0
 * is ignored. */
void track_slice(TrackWriter *writer,
                 uint64_t track,
                 uint64_t begin_ns,
                 uint64_t end_ns,
                 const char *name);

/* For ProbeOps.clear_incremental_state. */
void track_writer_clear(TrackWriter *writer);
