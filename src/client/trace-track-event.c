/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Track events: slices, instants and counters of programs
 *
 * Packets of different threads are not in time order in a file, and slices of one track may come
 * from several threads. So begins and ends are collected into a window, sorted, and matched when it
 * is full.
 */

#include <string.h>

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

/* Phases of TrackEvent.LegacyEvent, for which there is no type. */
static const uint8_t legacy_types[] = {
        ['B'] = TYPE_SLICE_BEGIN, ['E'] = TYPE_SLICE_END, ['I'] = TYPE_INSTANT,
        ['i'] = TYPE_INSTANT,     ['R'] = TYPE_INSTANT,
};

typedef struct Event {
        uint64_t type;
        uint64_t track_uuid;
        const char *name, *category;
        double value;
        bool is_undecodable; /* a number stands for a name that is not in the file */
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

Track *track_free(Track *track) {
        g_free(track->open);
        g_free(track);
        return NULL;
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
                *table = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
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

static uint64_t legacy_type(const WireField *legacy) {
        uint64_t numbers[3];

        trace_read_numbers(legacy, numbers, ARRAY_SIZE(numbers));
        return numbers[2] < ARRAY_SIZE(legacy_types) ? legacy_types[numbers[2]] : 0;
}

static void event_take(Event *event, Packet *packet, const WireField *field) {
        Sequence *sequence = packet->sequence;

        switch (field->number) {
        case TRACK_EVENT_TYPE:
                event->type = field->value;
                break;
        case TRACK_EVENT_LEGACY:
                if (field->type == WIRE_BYTES && event->type == 0)
                        event->type = legacy_type(field);
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

Track *trace_state_track(TraceSummary *summary, uint64_t uuid) {
        Track *track = g_hash_table_lookup(summary->state->tracks, &uuid);

        if (track || !trace_state_may_grow(summary))
                return track;
        track = g_new0(Track, 1);
        track->uuid = uuid;
        g_hash_table_insert(summary->state->tracks, &track->uuid, track);
        return track;
}

static TraceSlice *summary_slice(TraceSummary *summary, const char *name, const char *category) {
        const char *key = name ? name : "(unnamed)";
        TraceSlice *slice = g_hash_table_lookup(summary->slices, key);

        if (slice || !trace_state_may_grow(summary))
                return slice;
        slice = g_new0(TraceSlice, 1);
        slice->name = key;
        slice->category = category;
        g_hash_table_insert(summary->slices, (gpointer)key, slice);
        return slice;
}

static int open_slice_push(Track *track, TraceSlice *slice, uint64_t at_ns) {
        if (track->n_open == TRACE_SLICE_DEPTH_MAX)
                return -E2BIG;
        if (track->n_open == track->n_allocated) {
                track->n_allocated = track->n_allocated ? track->n_allocated * 2 : 8;
                track->open = g_realloc_n(track->open, track->n_allocated, sizeof(*track->open));
        }
        track->open[track->n_open++] = (OpenSlice){ .slice = slice, .since_ns = at_ns };
        return 0;
}

static void track_begin(TraceSummary *summary, Track *track, const TrackEvent *event) {
        if (track->n_too_deep || open_slice_push(track, event->slice, event->at_ns) < 0) {
                track->n_too_deep++;
                summary->n_omitted++;
        }
}

static void slice_end(TraceSlice *slice, uint64_t duration_ns) {
        slice->n_slices++;
        slice->total_ns += duration_ns;
        slice->max_ns = MAX(slice->max_ns, duration_ns);
}

static void track_end(TraceSummary *summary, Track *track, uint64_t at_ns) {
        const OpenSlice *open;

        if (track->n_too_deep) {
                track->n_too_deep--;
                return;
        }
        if (track->n_open == 0) {
                summary->n_unmatched_ends++;
                return;
        }
        open = &track->open[--track->n_open];
        slice_end(open->slice, at_ns > open->since_ns ? at_ns - open->since_ns : 0);
}

static gint compare_events(gconstpointer a, gconstpointer b) {
        const TrackEvent *x = a, *y = b;

        if (x->at_ns != y->at_ns)
                return x->at_ns < y->at_ns ? -1 : 1;
        return x->order < y->order ? -1 : x->order > y->order;
}

/* Puts the window in order and matches its begins and ends. */
static void summary_match_slices(TraceSummary *summary) {
        GArray *events = summary->state->events;

        g_array_sort(events, compare_events);
        for (guint i = 0; i < events->len; i++) {
                const TrackEvent *event = &g_array_index(events, TrackEvent, i);

                if (event->is_begin)
                        track_begin(summary, event->track, event);
                else
                        track_end(summary, event->track, event->at_ns);
        }
        g_array_set_size(events, 0);
}

static void summary_add_event(Packet *packet, Track *track, TraceSlice *slice) {
        GArray *events = packet->summary->state->events;
        TrackEvent event = {
                .at_ns = packet->at_ns,
                .track = track,
                .slice = slice,
                .order = events->len,
                .is_begin = slice != NULL,
        };

        g_array_append_val(events, event);
        if (events->len == TRACE_EVENT_WINDOW)
                summary_match_slices(packet->summary);
}

static void event_begin(Packet *packet, const Event *event, Track *track) {
        TraceSlice *slice = summary_slice(packet->summary, event->name, event->category);

        if (!slice)
                return;
        if (track->thread)
                track->thread->n_slices++;
        summary_add_event(packet, track, slice);
}

static void event_end(Packet *packet, const Event *event, Track *track) {
        summary_add_event(packet, track, NULL);
}

static void event_instant(Packet *packet, const Event *event, Track *track) {
        TraceSlice *slice = summary_slice(packet->summary, event->name, event->category);

        if (slice)
                slice->n_instants++;
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

void packet_track_event(Packet *packet, const WireField *payload) {
        static void (*const apply[])(Packet *, const Event *, Track *) = {
                [TYPE_SLICE_BEGIN] = event_begin,
                [TYPE_SLICE_END] = event_end,
                [TYPE_INSTANT] = event_instant,
                [TYPE_COUNTER] = event_counter,
        };
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
        if (track && event.type < ARRAY_SIZE(apply) && apply[event.type])
                apply[event.type](packet, &event, track);
}

void trace_track_events_finish(TraceSummary *summary) {
        GHashTableIter iter;
        gpointer value;

        summary_match_slices(summary);
        g_hash_table_iter_init(&iter, summary->state->tracks);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                Track *track = value;

                for (size_t i = 0; i < track->n_open; i++)
                        track->open[i].slice->n_open++;
        }
}
