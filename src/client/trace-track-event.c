/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Track events: slices, instants and counters of programs
 *
 * Chromium writes many of them with a phase of its older format in place of a type (TrackEvent.LegacyEvent): slices
 * that have their duration with them, and asynchronous ones, which belong together by an id and have no other track.
 */

#include <string.h>

#include "client/keyed-hash.h"
#include "client/say.h"
#include "client/trace-state.h"

/* perfetto.protos.TrackEvent. */
enum {
        TRACK_EVENT_CATEGORY_IIDS = 3,
        TRACK_EVENT_LEGACY = 6,
        TRACK_EVENT_TYPE = 9,
        TRACK_EVENT_NAME_IID = 10,
        TRACK_EVENT_TRACK_UUID = 11,
        TRACK_EVENT_CATEGORIES = 22,
        TRACK_EVENT_NAME = 23,
        TRACK_EVENT_COUNTER_VALUE = 30,
        TRACK_EVENT_DOUBLE_COUNTER_VALUE = 44,
};

enum {
        TYPE_SLICE_BEGIN = 1,
        TYPE_SLICE_END = 2,
        TYPE_INSTANT = 3,
        TYPE_COUNTER = 4,
};

/* InternedData. */
enum {
        TRACK_EVENT_ANNOTATIONS = 4,
        ANNOTATION_STRING = 6,
        ANNOTATION_NAME = 10,
        INTERNED_CATEGORIES = 1,
        INTERNED_EVENT_NAMES = 2,
};

/* TrackEvent.LegacyEvent. */
enum {
        LEGACY_NAME_IID = 1,
        LEGACY_PHASE = 2,
        LEGACY_DURATION_US = 3,
        LEGACY_UNSCOPED_ID = 6,
        LEGACY_ID_SCOPE = 7,
        LEGACY_LOCAL_ID = 10,
        LEGACY_GLOBAL_ID = 11,
};

/* What there is no type for. */
#define TYPE_COMPLETE 5

typedef struct LegacyPhase {
        uint8_t type;
        bool is_async;
} LegacyPhase;

static const LegacyPhase legacy_phases[] = {
        ['B'] = { TYPE_SLICE_BEGIN },       ['E'] = { TYPE_SLICE_END },
        ['I'] = { TYPE_INSTANT },           ['i'] = { TYPE_INSTANT },
        ['R'] = { TYPE_INSTANT },           ['X'] = { TYPE_COMPLETE },
        ['b'] = { TYPE_SLICE_BEGIN, true }, ['e'] = { TYPE_SLICE_END, true },
        ['n'] = { TYPE_INSTANT, true },
};

typedef struct Event {
        uint64_t type;
        uint64_t track_uuid;
        const char *name, *category;
        double value;
        bool is_undecodable; /* a number stands for a name that is not in the file */
        bool is_async;       /* by async_id, and of the track's program */
        AsyncId async_id;
        const char *id_scope;
        uint64_t duration_ns; /* of a TYPE_COMPLETE */
} Event;

Sequence *sequence_free(Sequence *sequence) {
        sequence_clear(sequence);
        g_free(sequence);
        return NULL;
}

void sequence_clear(Sequence *sequence) {
        g_clear_pointer(&sequence->names, g_hash_table_unref);
        g_clear_pointer(&sequence->categories, g_hash_table_unref);
        sequence->default_clock = 0;
        sequence->default_track = 0;
}

/* TracePacketDefaults: the clock, and the track of events that name none. */
void sequence_take_defaults(Sequence *sequence, const WireField *defaults) {
        WireReader reader, nested;
        WireField field;

        wire_reader_init_field(&reader, defaults);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 58)
                        sequence->default_clock = (uint32_t)field.value;
                if (field.number != 11 || field.type != WIRE_BYTES)
                        continue;
                wire_reader_init_field(&nested, &field);
                while (wire_read(&nested, &field) > 0)
                        if (field.number == TRACK_EVENT_TRACK_UUID)
                                sequence->default_track = field.value;
        }
}

static void interned_add(TraceSummary *summary, GHashTable **table, const WireField *entry) {
        const char *name = NULL;
        uint64_t iid = 0;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, entry);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1)
                        iid = field.value;
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        name = trace_state_field_name(summary, &field);
        }
        if (!iid || !name || !trace_state_may_grow(summary))
                return;
        if (!*table)
                *table = g_hash_table_new_full(keyed_hash_uint64, g_int64_equal, g_free, NULL);
        g_hash_table_insert(*table, g_memdup2(&iid, sizeof(iid)), (gpointer)name);
}

void sequence_take_interned(Packet *packet, const WireField *interned) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, interned);
        while (wire_read(&reader, &field) > 0) {
                if (field.type != WIRE_BYTES)
                        continue;
                if (field.number == INTERNED_EVENT_NAMES)
                        interned_add(packet->summary, &packet->sequence->names, &field);
                else if (field.number == INTERNED_CATEGORIES)
                        interned_add(packet->summary, &packet->sequence->categories, &field);
        }
}

static const char *interned_find(GHashTable *table, uint64_t iid, Event *event) {
        const char *name = table ? g_hash_table_lookup(table, &iid) : NULL;

        if (!name)
                event->is_undecodable = true;
        return name;
}

/* repeated uint64: packed, or one a field. The first category is enough for a summary. */
static uint64_t first_of_repeated(const WireField *field) {
        WireReader reader;
        uint64_t value;

        if (field->type == WIRE_VARINT)
                return field->value;
        wire_reader_init_field(&reader, field);
        return wire_read_varint(&reader, &value) == 0 ? value : 0;
}

static double double_from_bits(uint64_t bits) {
        double value;

        memcpy(&value, &bits, sizeof(value));
        return value;
}

static void legacy_take(Event *event, Packet *packet, const WireField *field) {
        switch (field->number) {
        case LEGACY_NAME_IID:
                if (!event->name)
                        event->name = interned_find(packet->sequence->names, field->value, event);
                break;
        case LEGACY_PHASE:
                if (event->type != 0 || field->value >= ARRAY_SIZE(legacy_phases))
                        break;
                event->type = legacy_phases[field->value].type;
                event->is_async = legacy_phases[field->value].is_async;
                break;
        case LEGACY_DURATION_US: /* negative: Chromium's for "not known" */
                if (field->value <= INT64_MAX / 1000)
                        event->duration_ns = field->value * 1000;
                break;
        case LEGACY_UNSCOPED_ID:
        case LEGACY_LOCAL_ID:
        case LEGACY_GLOBAL_ID:
                event->async_id.id = field->value;
                event->async_id.is_kind = field->number;
                break;
        case LEGACY_ID_SCOPE:
                if (field->type == WIRE_BYTES && field->n_bytes > 0)
                        event->id_scope = trace_state_field_name(packet->summary, field);
                break;
        }
}

static void event_take_legacy(Event *event, Packet *packet, const WireField *legacy) {
        WireReader reader;
        WireField field;

        if (legacy->type != WIRE_BYTES)
                return;
        wire_reader_init_field(&reader, legacy);
        while (wire_read(&reader, &field) > 0)
                legacy_take(event, packet, &field);
}

static void event_take(Event *event, Packet *packet, const WireField *field) {
        Sequence *sequence = packet->sequence;

        switch (field->number) {
        case TRACK_EVENT_TYPE:
                if (field->value == 0 || field->value >= TYPE_COMPLETE)
                        break;
                event->type = field->value;
                event->is_async = false;
                break;
        case TRACK_EVENT_LEGACY:
                event_take_legacy(event, packet, field);
                break;
        case TRACK_EVENT_TRACK_UUID:
                event->track_uuid = field->value;
                break;
        case TRACK_EVENT_NAME_IID:
                event->name = interned_find(sequence->names, field->value, event);
                break;
        case TRACK_EVENT_NAME:
                if (field->type == WIRE_BYTES)
                        event->name = trace_state_field_name(packet->summary, field);
                break;
        case TRACK_EVENT_CATEGORY_IIDS:
                if (!event->category)
                        event->category = interned_find(
                                sequence->categories, first_of_repeated(field), event);
                break;
        case TRACK_EVENT_CATEGORIES:
                if (!event->category && field->type == WIRE_BYTES)
                        event->category = trace_state_field_name(packet->summary, field);
                break;
        case TRACK_EVENT_COUNTER_VALUE:
                event->value = (double)(int64_t)field->value;
                break;
        case TRACK_EVENT_DOUBLE_COUNTER_VALUE:
                event->value = double_from_bits(field->value);
                break;
        }
}

static void event_begin(Packet *packet, const Event *event, Track *track) {
        TraceSlice *slice = trace_state_slice(packet->summary, event->name, event->category);

        if (!slice)
                return;
        if (track->thread)
                track->thread->n_slices++;
        trace_slice_event(packet, track, slice);
}

static void event_end(Packet *packet, const Event *event, Track *track) {
        trace_slice_event(packet, track, NULL);
}

static void event_instant(Packet *packet, const Event *event, Track *track) {
        TraceSlice *slice = trace_state_slice(packet->summary, event->name, event->category);

        if (slice)
                slice->n_instants++;
}

static void event_complete(Packet *packet, const Event *event, Track *track) {
        TraceSlice *slice = trace_state_slice(packet->summary, event->name, event->category);

        if (!slice)
                return;
        if (track->thread)
                track->thread->n_slices++;
        trace_slice_add(slice, event->duration_ns);
}

static void event_counter(Packet *packet, const Event *event, Track *track) {
        if (track->counter)
                trace_counter_add(track->counter, event->value);
        else
                packet->summary->n_unknown_names++;
}

/* The string of the annotation "data source"; ret is left alone for any other. */
static void annotation_take(WireField *ret, const WireField *annotation) {
        static const char source[] = "data source";
        bool is_source = false;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, annotation);
        while (wire_read(&reader, &field) > 0) {
                if (field.type != WIRE_BYTES)
                        continue;
                if (field.number == ANNOTATION_NAME)
                        is_source = field.n_bytes == strlen(source) &&
                                    memcmp(field.data, source, field.n_bytes) == 0;
                if (field.number == ANNOTATION_STRING && is_source)
                        *ret = field;
        }
}

/* The service's own events are what producers say that they do not record. */
static void packet_note(Packet *packet, const WireField *payload) {
        GPtrArray *notes = packet->summary->notes;
        WireField source = { 0 }, name = { 0 }, field;
        g_autofree char *text = NULL;
        WireReader reader;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                if (field.number == TRACK_EVENT_NAME && field.type == WIRE_BYTES)
                        name = field;
                else if (field.number == TRACK_EVENT_ANNOTATIONS && field.type == WIRE_BYTES)
                        annotation_take(&source, &field);
        if (!name.data || notes->len == TRACE_NOTES_MAX)
                return;
        text = g_strdup_printf("%.*s: %.*s",
                               (int)MIN(source.n_bytes, (size_t)TRACE_NAME_BYTES_MAX),
                               source.data ? (const char *)source.data : "",
                               (int)MIN(name.n_bytes, (size_t)TRACE_NOTE_BYTES_MAX),
                               (const char *)name.data);
        g_ptr_array_add(notes, say_clean(text, strlen(text)));
}

/* A local id is one of its process, which the thread's track knows. Names are kept once, so their addresses tell
 * them apart. */
static Track *event_async_track(Packet *packet, const Event *event, const Track *of_thread) {
        const char *scope = event->id_scope ? event->id_scope : event->category;
        AsyncId id = event->async_id;

        id.scope = (uintptr_t)scope;
        id.owner = -1;
        if (id.is_kind == LEGACY_LOCAL_ID)
                id.owner = of_thread->thread ? of_thread->thread->pid
                                             : packet->sequence->producer->pid;
        return trace_state_async_track(packet->summary, &id);
}

static void event_apply(Packet *packet, const Event *event, Track *track) {
        static void (*const apply[])(Packet *, const Event *, Track *) = {
                [TYPE_SLICE_BEGIN] = event_begin, [TYPE_SLICE_END] = event_end,
                [TYPE_INSTANT] = event_instant,   [TYPE_COUNTER] = event_counter,
                [TYPE_COMPLETE] = event_complete,
        };

        if (track && event->is_async)
                track = event_async_track(packet, event, track);
        if (track && event->type < ARRAY_SIZE(apply) && apply[event->type])
                apply[event->type](packet, event, track);
}

void packet_track_event(Packet *packet, const WireField *payload) {
        Event event = { .track_uuid = packet->sequence->default_track };
        WireReader reader;
        WireField field;
        Track *track;

        if (packet->summary->state->in_service_packet) {
                packet_note(packet, payload);
                return;
        }
        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                event_take(&event, packet, &field);
        /* An event without a track is on one of its sequence's own. */
        track = trace_state_track(packet->summary,
                                  event.track_uuid ? event.track_uuid : packet->sequence->id);
        packet->summary->n_track_events += !track || !track->is_of_machine;
        if (packet->time != PACKET_TIME_KNOWN) {
                packet->summary->n_unknown_clock += packet->time == PACKET_TIME_NONE;
                return;
        }
        if (event.is_undecodable) {
                if (packet_is_behind_forgotten(packet))
                        packet->summary->n_forgotten++;
                else
                        packet->summary->n_unknown_names++;
                return;
        }
        event_apply(packet, &event, track);
}
