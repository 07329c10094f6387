/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A packet is encoded in place behind its frame's tag: wire_begin() and wire_end() of Trace.packet make the frame.
 */

#include <errno.h>

#include "core/events/service-packets.h"
#include "core/model/bytes-writer.h"
#include "core/model/sequence-ids.h"

#define TRACE_PACKET 1 /* field of perfetto.protos.Trace */

static const uint8_t synchronization_marker[16] = {
        0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba,
        0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79,
};

/*
 * Packets
 */

typedef struct PacketWriter {
        WireWriter wire;
        Bytes *out;
        size_t begin;
} PacketWriter;

static void packet_begin(PacketWriter *packet, Bytes *out, const ServiceInfo *info) {
        packet->out = out;
        bytes_writer_init(&packet->wire, out);
        packet->begin = wire_begin(&packet->wire, TRACE_PACKET);
        wire_put_int(&packet->wire, PACKET_TRUSTED_UID, (int32_t)info->uid);
        wire_put_uint(&packet->wire, PACKET_SEQUENCE_ID, SEQUENCE_SERVICE);
}

static void
packet_begin_at(PacketWriter *packet, Bytes *out, const ServiceInfo *info, uint64_t ns) {
        packet_begin(packet, out, info);
        wire_put_uint(&packet->wire, PACKET_TIMESTAMP, ns);
        wire_put_uint(&packet->wire, PACKET_TIMESTAMP_CLOCK_ID, CLOCK_ID_BOOTTIME);
}

static int packet_end(PacketWriter *packet) {
        wire_end(&packet->wire, packet->begin);
        return bytes_writer_finish(&packet->wire, packet->out);
}

int packet_put_clock_snapshot(Bytes *out,
                              const ServiceInfo *info,
                              const ClockSnapshot *snapshot,
                              uint32_t primary_clock) {
        PacketWriter packet;
        size_t message, clock;

        packet_begin_at(&packet, out, info, snapshot_find(snapshot, CLOCK_ID_BOOTTIME));
        message = wire_begin(&packet.wire, PACKET_CLOCK_SNAPSHOT);
        for (size_t i = 0; i < snapshot->n; i++) {
                clock = wire_begin(&packet.wire, 1);
                wire_put_uint(&packet.wire, 1, snapshot->readings[i].clock_id);
                wire_put_uint(&packet.wire, 2, snapshot->readings[i].ns);
                wire_end(&packet.wire, clock);
        }
        wire_put_uint(&packet.wire, 2, primary_clock);
        wire_end(&packet.wire, message);
        return packet_end(&packet);
}

/* The marker ends the packet: a reader that finds its 16 bytes stands in front of a packet. */
int packet_put_marker(Bytes *out, const ServiceInfo *info) {
        PacketWriter packet;

        packet_begin(&packet, out, info);
        wire_put_bytes(&packet.wire,
                       PACKET_SYNCHRONIZATION_MARKER,
                       synchronization_marker,
                       sizeof(synchronization_marker));
        return packet_end(&packet);
}

int packet_put_config(Bytes *out, const ServiceInfo *info, const void *config, size_t n_config) {
        PacketWriter packet;

        packet_begin(&packet, out, info);
        wire_put_bytes(&packet.wire, PACKET_TRACE_CONFIG, config, n_config);
        return packet_end(&packet);
}

int packet_put_uuid(Bytes *out, const ServiceInfo *info, const uint64_t uuid[static 2]) {
        PacketWriter packet;
        size_t message;

        packet_begin(&packet, out, info);
        message = wire_begin(&packet.wire, PACKET_TRACE_UUID);
        wire_put_int(&packet.wire, 1, (int64_t)uuid[0]);
        wire_put_int(&packet.wire, 2, (int64_t)uuid[1]);
        wire_end(&packet.wire, message);
        return packet_end(&packet);
}

/* The first field that Desktrace adds to SystemInfo; docs/SOURCES.md lists them. */
#define SYSTEM_INFO_OWN 1900

int packet_put_system_info(Bytes *out, const ServiceInfo *info) {
        const char *const utsname[] = {
                info->sysname, info->kernel_version, info->release, info->machine
        };
        const char *const own[] = { info->boot_id, info->os_id, info->os_version, info->cpu_model };
        PacketWriter packet;
        size_t message, names;

        packet_begin(&packet, out, info);
        message = wire_begin(&packet.wire, PACKET_SYSTEM_INFO);
        names = wire_begin(&packet.wire, 1);
        for (uint32_t i = 0; i < ARRAY_SIZE(utsname); i++)
                if (utsname[i])
                        wire_put_string(&packet.wire, i + 1, utsname[i]);
        wire_end(&packet.wire, names);
        wire_put_int(&packet.wire, 3, info->hz);
        if (info->version)
                wire_put_string(&packet.wire, 4, info->version);
        wire_put_uint(&packet.wire, 6, (uint64_t)info->page_size);
        wire_put_int(&packet.wire, 7, info->timezone_offset_minutes);
        wire_put_uint(&packet.wire, 8, info->n_cpus);
        wire_put_uint(&packet.wire, 16, info->ram_bytes);
        for (uint32_t i = 0; i < ARRAY_SIZE(own); i++)
                if (own[i] && *own[i])
                        wire_put_string(&packet.wire, SYSTEM_INFO_OWN + i, own[i]);
        wire_end(&packet.wire, message);
        return packet_end(&packet);
}

int packet_put_event(Bytes *out, const ServiceInfo *info, const EventRecord *event) {
        PacketWriter packet;
        size_t message;

        packet_begin_at(&packet, out, info, event->ns);
        message = wire_begin(&packet.wire, PACKET_SERVICE_EVENT);
        if (event->sources.n > 0)
                wire_put_bytes(&packet.wire, event->event, event->sources.data, event->sources.n);
        else if (event->event == EVENT_BUFFER_CLONED)
                wire_put_uint(&packet.wire, event->event, event->buffer);
        else
                wire_put_bool(&packet.wire, event->event, true);
        wire_end(&packet.wire, message);
        return packet_end(&packet);
}

int packet_put_away(Bytes *out, const ServiceInfo *info, const ServiceAway *away) {
        PacketWriter packet;
        size_t message, event;

        packet_begin_at(&packet, out, info, away->until);
        message = wire_begin(&packet.wire, PACKET_SERVICE_EVENT);
        event = wire_begin(&packet.wire, EVENT_SERVICE_AWAY);
        wire_put_uint(&packet.wire, 1, away->from);
        wire_put_uint(&packet.wire, 2, away->until);
        wire_put_uint(&packet.wire, 3, away->n_lost);
        wire_end(&packet.wire, event);
        wire_end(&packet.wire, message);
        return packet_end(&packet);
}

/* A timestamped packet of one message. */
static int packet_put_message(Bytes *out,
                              const ServiceInfo *info,
                              uint64_t now,
                              uint32_t field,
                              const void *message,
                              size_t n_message) {
        PacketWriter packet;

        packet_begin_at(&packet, out, info, now);
        wire_put_bytes(&packet.wire, field, message, n_message);
        return packet_end(&packet);
}

int packet_put_provenance(Bytes *out,
                          const ServiceInfo *info,
                          uint64_t now,
                          const void *provenance,
                          size_t n_provenance) {
        return packet_put_message(
                out, info, now, PACKET_TRACE_PROVENANCE, provenance, n_provenance);
}

int packet_put_trigger(Bytes *out,
                       const ServiceInfo *info,
                       uint32_t field,
                       const TriggerEvent *event) {
        PacketWriter packet;
        size_t message;

        packet_begin_at(&packet, out, info, event->ns);
        message = wire_begin(&packet.wire, field);
        wire_put_string(&packet.wire, 1, event->trigger);
        wire_put_string(&packet.wire, 2, event->producer);
        wire_put_int(&packet.wire, 3, (int32_t)event->uid);
        wire_put_uint(&packet.wire, 4, event->delay_ms);
        wire_end(&packet.wire, message);
        return packet_end(&packet);
}

int packet_put_stats(Bytes *out,
                     const ServiceInfo *info,
                     uint64_t now,
                     const void *stats,
                     size_t n_stats) {
        return packet_put_message(out, info, now, PACKET_TRACE_STATS, stats, n_stats);
}

int packet_put_concurrent_event(Bytes *out, const ServiceInfo *info, const ConcurrentEvent *event) {
        PacketWriter packet;
        size_t message;

        packet_begin_at(&packet, out, info, event->ns);
        message = wire_begin(&packet.wire, PACKET_CONCURRENT_SESSION_EVENT);
        wire_put_uint(&packet.wire, 1, event->phase);
        if (event->session_name[0])
                wire_put_string(&packet.wire, 2, event->session_name);
        wire_put_uint(&packet.wire, 3, event->session_id);
        wire_put_int(&packet.wire, 4, (int32_t)event->uid);
        wire_put_uint(&packet.wire, 5, event->n_sources);
        wire_end(&packet.wire, message);
        return packet_end(&packet);
}

int packet_put_extension(Bytes *out,
                         const ServiceInfo *info,
                         bool is_gzip,
                         const Bytes *descriptors,
                         const char *file_name) {
        PacketWriter packet;
        size_t message;

        packet_begin(&packet, out, info);
        message = wire_begin(&packet.wire, PACKET_EXTENSION_DESCRIPTOR);
        wire_put_bytes(&packet.wire, is_gzip ? 2 : 1, descriptors->data, descriptors->n);
        wire_put_string(&packet.wire, 3, file_name);
        wire_end(&packet.wire, message);
        return packet_end(&packet);
}

/* Fields of TrackDescriptor, TrackEvent and DebugAnnotation. */
enum {
        TRACK_UUID = 1,
        TRACK_NAME = 2,
        TRACK_EVENT_ANNOTATIONS = 4,
        TRACK_EVENT_TYPE = 9,
        TRACK_EVENT_TRACK_UUID = 11,
        TRACK_EVENT_CATEGORIES = 22,
        TRACK_EVENT_NAME = 23,
        TRACK_EVENT_INSTANT = 3,
        ANNOTATION_INT = 4,
        ANNOTATION_STRING = 6,
        ANNOTATION_NAME = 10,
};

#define NOTE_TRACK_UUID UINT64_C(0x6465736b6e6f7465) /* any that nobody else has */

int packet_put_note_track(Bytes *out, const ServiceInfo *info) {
        PacketWriter packet;
        size_t message;

        packet_begin(&packet, out, info);
        message = wire_begin(&packet.wire, PACKET_TRACK_DESCRIPTOR);
        wire_put_uint(&packet.wire, TRACK_UUID, NOTE_TRACK_UUID);
        wire_put_string(&packet.wire, TRACK_NAME, TRACING_NOTES_TRACK);
        wire_end(&packet.wire, message);
        return packet_end(&packet);
}

static void put_annotation(WireWriter *wire, const char *name, const char *value) {
        size_t message = wire_begin(wire, TRACK_EVENT_ANNOTATIONS);

        wire_put_string(wire, ANNOTATION_NAME, name);
        wire_put_string(wire, ANNOTATION_STRING, value);
        wire_end(wire, message);
}

int packet_put_note(Bytes *out, const ServiceInfo *info, const NoteEvent *note) {
        PacketWriter packet;
        size_t message, pid;

        packet_begin_at(&packet, out, info, note->ns);
        message = wire_begin(&packet.wire, PACKET_TRACK_EVENT);
        wire_put_uint(&packet.wire, TRACK_EVENT_TYPE, TRACK_EVENT_INSTANT);
        wire_put_uint(&packet.wire, TRACK_EVENT_TRACK_UUID, NOTE_TRACK_UUID);
        wire_put_string(&packet.wire, TRACK_EVENT_CATEGORIES, TRACING_NOTES_CATEGORY);
        wire_put_string(&packet.wire, TRACK_EVENT_NAME, note->text);
        put_annotation(&packet.wire, "data source", note->source);
        put_annotation(&packet.wire, "producer", note->producer);
        pid = wire_begin(&packet.wire, TRACK_EVENT_ANNOTATIONS);
        wire_put_string(&packet.wire, ANNOTATION_NAME, "pid");
        wire_put_int(&packet.wire, ANNOTATION_INT, note->pid);
        wire_end(&packet.wire, pid);
        wire_end(&packet.wire, message);
        return packet_end(&packet);
}
