/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Self packets: the encoding of what the service says about itself
 *
 * Each is one TracePacket with a TrackEvent or a TrackDescriptor, whole in a small piece of memory, complete in itself:
 * names are written out, nothing is interned.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SELF_PACKET_BYTES_MAX 640 /* with the longest names */
#define SELF_NOTES_MAX        4

/* Numbers of tracks: ones that no other program is likely to use, with room for sessions and flushes. */
#define SELF_TRACK_PROCESS   UINT64_C(0x6465736b74720000)
#define SELF_TRACK_INGEST    (SELF_TRACK_PROCESS + 1)
#define SELF_TRACK_READ_OUT  (SELF_TRACK_PROCESS + 2)
#define SELF_TRACK_LATENCY   (SELF_TRACK_PROCESS + 3)
#define SELF_TRACK_SESSION_0 (SELF_TRACK_PROCESS ^ UINT64_C(1) << 62)
#define SELF_TRACK_FLUSH_0   (SELF_TRACK_PROCESS ^ UINT64_C(1) << 63)

typedef struct SelfPacket {
        uint8_t bytes[SELF_PACKET_BYTES_MAX];
        size_t n;
} SelfPacket;

/* The values are those of perfetto.protos.TrackEvent.Type. */
typedef enum SelfEventType {
        SELF_SLICE_BEGIN = 1,
        SELF_SLICE_END = 2,
        SELF_COUNTER = 4,
} SelfEventType;

/* A debug annotation. */
typedef struct SelfNote {
        const char *name;
        uint64_t number;
} SelfNote;

typedef struct SelfEvent {
        SelfEventType type;
        uint64_t ns;
        uint64_t track;
        const char *name; /* of the beginning of a slice */
        uint64_t value;   /* of a counter */
        SelfNote notes[SELF_NOTES_MAX];
        size_t n_notes;
} SelfEvent;

void self_packet_event(SelfPacket *ret, const SelfEvent *event);

/* The process itself. It also says that no earlier packet is referred to. */
void self_packet_process(SelfPacket *ret, uint64_t ns, pid_t pid, const char *name);

/* A row of the process; with a `unit` it is a counter. */
void self_packet_track(SelfPacket *ret,
                       uint64_t ns,
                       uint64_t track,
                       const char *name,
                       const char *unit);
