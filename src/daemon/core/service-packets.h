/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Service packets: what the service itself says in a trace
 *
 * Encoders of TracePackets with the service's trusted fields (sequence 1), in trace file framing, and the two
 * little stores behind them: clock snapshots and lifecycle events that wait for the next read.
 * Field numbers are those of perfetto.protos.TracePacket.
 */

#include "core/peer.h"
#include "core/service.h"
#include "shared/bytes.h"
#include "wire/wire-writer.h"

/* Fields of TracePacket that the service writes. */
enum {
        PACKET_TRUSTED_UID = 3,
        PACKET_CLOCK_SNAPSHOT = 6,
        PACKET_TIMESTAMP = 8,
        PACKET_SEQUENCE_ID = 10,
        PACKET_TRACK_EVENT = 11,
        PACKET_TRACE_CONFIG = 33,
        PACKET_TRACE_STATS = 35,
        PACKET_SYNCHRONIZATION_MARKER = 36,
        PACKET_PREVIOUS_DROPPED = 42,
        PACKET_SYSTEM_INFO = 45,
        PACKET_TRIGGER = 46,
        PACKET_TIMESTAMP_CLOCK_ID = 58,
        PACKET_TRACK_DESCRIPTOR = 60,
        PACKET_SERVICE_EVENT = 69,
        PACKET_TRUSTED_PID = 79,
        PACKET_EXTENSION_DESCRIPTOR = 72,
        PACKET_TRACE_UUID = 89,
        PACKET_CLONE_SNAPSHOT_TRIGGER = 113,
        PACKET_TRACE_PROVENANCE = 124,
        PACKET_CONCURRENT_SESSION_EVENT = 134,
};

/* Fields of TracingServiceEvent. */
typedef enum ServiceEvent {
        EVENT_ALL_SOURCES_STARTED = 1,
        EVENT_TRACING_STARTED = 2,
        EVENT_ALL_SOURCES_FLUSHED = 3,
        EVENT_READ_COMPLETED = 4,
        EVENT_TRACING_DISABLED = 5,
        EVENT_SLOW_STARTING_SOURCES = 7,
        EVENT_SLOW_FLUSHING_SOURCES = 8,
        EVENT_FLUSH_STARTED = 9,
        EVENT_CLONE_STARTED = 10,
        EVENT_BUFFER_CLONED = 11,
} ServiceEvent;

typedef struct ClockSnapshot {
        size_t n;
        ClockReading readings[CLOCK_READINGS_MAX];
} ClockSnapshot;

#define CLOCK_RING_MAX      16
#define CLOCK_RING_DRIFT_NS (UINT64_C(10) * 1000000)

/* Snapshots that nobody has read yet. A new one is kept only if some clock has drifted since the one before:
 * otherwise it says nothing. Once that was read, the next is kept in any case, so that each piece of a stream
 * can be understood by itself. Zero-initialised is empty. */
typedef struct ClockRing {
        ClockSnapshot snapshots[CLOCK_RING_MAX];
        size_t first, n;
} ClockRing;

void clock_ring_add(ClockRing *ring, const ClockSnapshot *snapshot);

/* When it was by that clock; 0: it is not in there. */
uint64_t snapshot_find(const ClockSnapshot *snapshot, uint32_t clock_id);

/* false: none left. */
bool clock_ring_take(ClockRing *ring, ClockSnapshot *ret);

#define EVENT_LIST_MAX  128
#define EVENT_NAMES_MAX 32 /* data sources that one event names */

typedef struct EventRecord {
        ServiceEvent event;
        uint64_t ns;
        Bytes sources;   /* of the slow ones: an encoded TracingServiceEvent.DataSources */
        uint32_t buffer; /* its index, of EVENT_BUFFER_CLONED */
} EventRecord;

/* Events that nobody has read yet, oldest first. When there are too many the oldest flush goes. Zero-initialised is
 * empty. */
typedef struct EventList {
        EventRecord records[EVENT_LIST_MAX];
        size_t n;
} EventList;

/* `sources` may be NULL, and is emptied otherwise. */
void event_list_add(EventList *list, ServiceEvent event, uint64_t ns, Bytes *sources);
void event_list_add_buffer(EventList *list, ServiceEvent event, uint64_t ns, uint32_t buffer);
void event_list_clear(EventList *list);

/* Into an empty one. Out of memory loses names. */
void event_list_copy(EventList *list, const EventList *from);

/* Forgets what is not true any more and was not read yet. */
void event_list_forget(EventList *list, ServiceEvent event);

/* Adds a DataSources.DataSource to an event's names. */
void event_sources_add(Bytes *sources, const char *producer, const char *source);

/* What another session did. */
typedef struct ConcurrentEvent {
        uint64_t ns;
        uint32_t phase; /* ConcurrentSessionEvent.State */
        uint64_t session_id;
        const char *session_name;
        uid_t uid;
        uint32_t n_sources;
} ConcurrentEvent;

/* A trigger that was hit. */
typedef struct TriggerEvent {
        uint64_t ns;
        const char *trigger;
        const char *producer; /* or whoever sent it */
        uid_t uid;
        uint32_t delay_ms;
} TriggerEvent;

/* What a producer says of one of its instances. */
typedef struct NoteEvent {
        uint64_t ns;
        const char *text, *source, *producer;
        pid_t pid;
} NoteEvent;

/* A writer that grows these bytes, behind what they have. */
void bytes_writer_init(WireWriter *writer, Bytes *bytes);
int bytes_writer_finish(WireWriter *writer, Bytes *bytes);

/* Each appends one framed packet; 0 or -ENOMEM. */
int packet_put_clock_snapshot(Bytes *out,
                              const ServiceInfo *info,
                              const ClockSnapshot *snapshot,
                              uint32_t primary_clock);
int packet_put_marker(Bytes *out, const ServiceInfo *info);
int packet_put_config(Bytes *out, const ServiceInfo *info, const void *config, size_t n_config);
int packet_put_uuid(Bytes *out, const ServiceInfo *info, const uint64_t uuid[static 2]);
int packet_put_system_info(Bytes *out, const ServiceInfo *info);
int packet_put_event(Bytes *out, const ServiceInfo *info, const EventRecord *event);
/* `field`: PACKET_TRIGGER or PACKET_CLONE_SNAPSHOT_TRIGGER. */
int packet_put_trigger(Bytes *out,
                       const ServiceInfo *info,
                       uint32_t field,
                       const TriggerEvent *event);
int packet_put_stats(Bytes *out,
                     const ServiceInfo *info,
                     uint64_t now,
                     const void *stats,
                     size_t n_stats);
int packet_put_concurrent_event(Bytes *out, const ServiceInfo *info, const ConcurrentEvent *event);
/* The track of notes, and a note as an instant on it. */
int packet_put_note_track(Bytes *out, const ServiceInfo *info);
int packet_put_note(Bytes *out, const ServiceInfo *info, const NoteEvent *note);
int packet_put_provenance(Bytes *out,
                          const ServiceInfo *info,
                          uint64_t now,
                          const void *provenance,
                          size_t n_provenance);
/* `descriptors` is a serialized FileDescriptorSet, maybe compressed. */
int packet_put_extension(Bytes *out,
                         const ServiceInfo *info,
                         bool is_gzip,
                         const Bytes *descriptors,
                         const char *file_name);
