/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Service packets: what the service itself says in a trace
 *
 * Encoders of TracePackets with the service's trusted fields (sequence 1), in trace file framing. Field numbers are
 * those of perfetto.protos.TracePacket.
 */

#include "core/model/event-list.h"
#include "core/model/service-info.h"
#include "core/model/session-info.h"

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
        const char *producer; /* or the name that the sender gave */
        uid_t uid;
        uint32_t delay_ms;
} TriggerEvent;

/* A note of a producer about one of its instances. */
typedef struct NoteEvent {
        uint64_t ns;
        const char *text, *source, *producer;
        pid_t pid;
} NoteEvent;

/* TracingServiceEvent of ours: { from = 1, until = 2, packets lost = 3 }, in BOOTTIME. */
#define EVENT_SERVICE_AWAY 1900

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
/* The service was not there. */
int packet_put_away(Bytes *out, const ServiceInfo *info, const ServiceAway *away);
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
