/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A packet is encoded in place behind its frame's tag: wire_begin() and wire_end() of Trace.packet make the frame.
 */

#include <errno.h>

#include "core/sequence-ids.h"
#include "core/service-packets.h"

#define TRACE_PACKET 1 /* field of perfetto.protos.Trace */

static const uint8_t synchronization_marker[16] = {
        0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba,
        0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79,
};

/*
 * Writing into Bytes
 */

/* The bytes may have moved: all three pointers follow. */
static void bytes_writer_sync(WireWriter *writer, Bytes *bytes, size_t n_written) {
        writer->start = bytes->data + bytes->n;
        writer->at = writer->start + n_written;
        writer->end = bytes->data + bytes->n_allocated;
}

static int bytes_writer_grow(WireWriter *writer, size_t n_more) {
        Bytes *bytes = writer->userdata;
        size_t n_written = wire_writer_size(writer);
        int r;

        r = bytes_reserve(bytes, n_written + n_more);
        if (r < 0)
                return r;
        bytes_writer_sync(writer, bytes, n_written);
        return 0;
}

/* Bytes without memory get some with the first reservation. */
void bytes_writer_init(WireWriter *writer, Bytes *bytes) {
        *writer = (WireWriter){ .grow = bytes_writer_grow, .userdata = bytes };
        if (bytes->data)
                bytes_writer_sync(writer, bytes, 0);
}

int bytes_writer_finish(WireWriter *writer, Bytes *bytes) {
        if (wire_writer_failed(writer))
                return -ENOMEM;
        bytes->n += wire_writer_size(writer);
        return 0;
}

/*
 * Clock snapshots
 */

static uint64_t snapshot_find(const ClockSnapshot *snapshot, uint32_t clock_id) {
        for (size_t i = 0; i < snapshot->n; i++)
                if (snapshot->readings[i].clock_id == clock_id)
                        return snapshot->readings[i].ns;
        return 0;
}

static uint64_t difference(uint64_t a, uint64_t b) {
        return a > b ? a - b : b - a;
}

/* How far a clock has moved against BOOTTIME between the two. */
static bool snapshot_drifted(const ClockSnapshot *a, const ClockSnapshot *b) {
        uint64_t elapsed =
                snapshot_find(b, CLOCK_ID_BOOTTIME) - snapshot_find(a, CLOCK_ID_BOOTTIME);

        for (size_t i = 0; i < b->n; i++) {
                uint64_t moved = b->readings[i].ns - snapshot_find(a, b->readings[i].clock_id);

                if (difference(moved, elapsed) >= CLOCK_RING_DRIFT_NS)
                        return true;
        }
        return false;
}

static ClockSnapshot *clock_ring_at(ClockRing *ring, size_t i) {
        return &ring->snapshots[(ring->first + i) % CLOCK_RING_MAX];
}

void clock_ring_add(ClockRing *ring, const ClockSnapshot *snapshot) {
        if (ring->n > 0 && !snapshot_drifted(clock_ring_at(ring, ring->n - 1), snapshot))
                return;
        if (ring->n == CLOCK_RING_MAX) {
                ring->first = (ring->first + 1) % CLOCK_RING_MAX;
                ring->n--;
        }
        *clock_ring_at(ring, ring->n++) = *snapshot;
}

bool clock_ring_take(ClockRing *ring, ClockSnapshot *ret) {
        if (ring->n == 0)
                return false;
        *ret = ring->snapshots[ring->first];
        ring->first = (ring->first + 1) % CLOCK_RING_MAX;
        ring->n--;
        return true;
}

/*
 * Events
 */

static bool event_is_flush(ServiceEvent event) {
        return event == EVENT_FLUSH_STARTED || event == EVENT_ALL_SOURCES_FLUSHED ||
               event == EVENT_SLOW_FLUSHING_SOURCES;
}

static void event_list_remove(EventList *list, size_t at) {
        bytes_deinit(&list->records[at].sources);
        list->n--;
        memmove(&list->records[at],
                &list->records[at + 1],
                (list->n - at) * sizeof(list->records[0]));
}

/* There are few events of other kinds: one of each, but for flushes. */
static void event_list_make_room(EventList *list) {
        for (size_t i = 0; list->n == EVENT_LIST_MAX && i < list->n; i++)
                if (event_is_flush(list->records[i].event))
                        event_list_remove(list, i);
        if (list->n == EVENT_LIST_MAX)
                event_list_remove(list, 0);
}

void event_list_add(EventList *list, ServiceEvent event, uint64_t ns, Bytes *sources) {
        event_list_make_room(list);
        list->records[list->n++] = (EventRecord){
                .event = event,
                .ns = ns,
                .sources = sources ? *sources : (Bytes){},
        };
        if (sources)
                *sources = (Bytes){};
}

void event_list_add_buffer(EventList *list, ServiceEvent event, uint64_t ns, uint32_t buffer) {
        event_list_add(list, event, ns, NULL);
        list->records[list->n - 1].buffer = buffer;
}

void event_list_copy(EventList *list, const EventList *from) {
        for (size_t i = 0; i < from->n; i++) {
                const EventRecord *record = &from->records[i];
                Bytes sources = {};

                bytes_append(&sources, record->sources.data, record->sources.n);
                event_list_add(list, record->event, record->ns, &sources);
                list->records[list->n - 1].buffer = record->buffer;
        }
}

void event_list_forget(EventList *list, ServiceEvent event) {
        for (size_t i = list->n; i > 0; i--)
                if (list->records[i - 1].event == event)
                        event_list_remove(list, i - 1);
}

void event_list_clear(EventList *list) {
        for (size_t i = 0; i < list->n; i++)
                bytes_deinit(&list->records[i].sources);
        list->n = 0;
}

/* DataSources { data_source = 1 { producer_name = 1, data_source_name = 2 } }. Out of memory loses a name. */
void event_sources_add(Bytes *sources, const char *producer, const char *source) {
        WireWriter writer;
        size_t begin;

        bytes_writer_init(&writer, sources);
        begin = wire_begin(&writer, 1);
        wire_put_string(&writer, 1, producer);
        wire_put_string(&writer, 2, source);
        wire_end(&writer, begin);
        bytes_writer_finish(&writer, sources);
}

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

int packet_put_system_info(Bytes *out, const ServiceInfo *info) {
        const char *const utsname[] = {
                info->sysname, info->kernel_version, info->release, info->machine
        };
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
