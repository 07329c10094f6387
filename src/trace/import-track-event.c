/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Track events: slices, instants and counters of programs
 *
 * Chromium writes many of them with a phase of its older format in place of a type (TrackEvent.LegacyEvent): slices
 * that have their duration with them, and asynchronous ones, which belong together by an id and have no other track.
 */

#include <string.h>

#include "trace/import.h"

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
        TRACK_EVENT_OLD_FLOW_IDS = 36,
        TRACK_EVENT_OLD_ENDING_FLOW_IDS = 42,
        TRACK_EVENT_DOUBLE_COUNTER_VALUE = 44,
        TRACK_EVENT_FLOW_IDS = 47,
        TRACK_EVENT_ENDING_FLOW_IDS = 48,
};

enum {
        TYPE_SLICE_BEGIN = 1,
        TYPE_SLICE_END = 2,
        TYPE_INSTANT = 3,
        TYPE_COUNTER = 4,
        TYPE_COMPLETE = 5, /* none of TrackEvent's */
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

#define EVENT_FLOWS_MAX 64

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
        bool has_track;
        uint32_t name, category;
        unsigned n_categories;
        double value;
        bool is_async, is_local;
        uint64_t async_id;
        uint32_t id_scope;
        int64_t duration_ns;
        uint64_t flows[EVENT_FLOWS_MAX], ending[EVENT_FLOWS_MAX];
        size_t n_flows, n_ending;
} Event;

/*
 * First pass
 */

static void legacy_take(TraceImport *import,
                        const TraceSequence *sequence,
                        Event *event,
                        const WireField *field) {
        switch (field->number) {
        case LEGACY_NAME_IID:
                if (!event->name &&
                    !trace_sequence_find(
                            sequence, TRACE_INTERNED_EVENT_NAME, field->value, &event->name))
                        import->n_unknown_names++;
                break;
        case LEGACY_PHASE:
                if (event->type != 0 || field->value >= ARRAY_SIZE(legacy_phases))
                        break;
                event->type = legacy_phases[field->value].type;
                event->is_async = legacy_phases[field->value].is_async;
                break;
        case LEGACY_DURATION_US: /* negative: Chromium's for "not known" */
                if (field->value <= INT64_MAX / 1000)
                        event->duration_ns = (int64_t)field->value * 1000;
                break;
        case LEGACY_UNSCOPED_ID:
        case LEGACY_LOCAL_ID:
        case LEGACY_GLOBAL_ID:
                event->async_id = field->value;
                event->is_local = field->number == LEGACY_LOCAL_ID;
                break;
        case LEGACY_ID_SCOPE:
                if (field->type == WIRE_BYTES)
                        event->id_scope = import_text(import, field);
                break;
        }
}

static void event_take_legacy(TraceImport *import,
                              const TraceSequence *sequence,
                              Event *event,
                              const WireField *legacy) {
        WireReader reader;
        WireField field;

        if (legacy->type != WIRE_BYTES)
                return;
        wire_reader_init_field(&reader, legacy);
        while (wire_read(&reader, &field) > 0)
                legacy_take(import, sequence, event, &field);
}

/* Several are one text, with commas. */
static void event_add_category(TraceImport *import, Event *event, uint32_t category) {
        TracePool *pool = &import->store->pool;
        const char *before = trace_pool_text(pool, event->category);
        const char *more = trace_pool_text(pool, category);

        event->category = event->n_categories++
                                  ? trace_pool_add_format(
                                            pool, "%s,%s", before ? before : "", more ? more : "")
                                  : category;
}

static void event_add_category_iid(TraceImport *import,
                                   const TraceSequence *sequence,
                                   Event *event,
                                   uint64_t iid) {
        uint32_t category;

        if (!trace_sequence_find(sequence, TRACE_INTERNED_CATEGORY, iid, &category)) {
                import->n_unknown_names++;
                category = trace_pool_add_format(
                        &import->store->pool, "unknown(%llu)", (unsigned long long)iid);
        }
        event_add_category(import, event, category);
}

/* Numbers one by one, or several in one field. */
static void event_take_categories(TraceImport *import,
                                  const TraceSequence *sequence,
                                  Event *event,
                                  const WireField *field) {
        WireReader reader;
        uint64_t iid;

        if (field->type != WIRE_BYTES) {
                event_add_category_iid(import, sequence, event, field->value);
                return;
        }
        wire_reader_init_field(&reader, field);
        while (reader.at < reader.end && wire_read_varint(&reader, &iid) == 0)
                event_add_category_iid(import, sequence, event, iid);
}

static void flows_add(uint64_t *flows, size_t *n, uint64_t id) {
        if (*n < EVENT_FLOWS_MAX)
                flows[(*n)++] = id;
}

static void flows_take(uint64_t *flows, size_t *n, const WireField *field, bool is_fixed) {
        WireReader reader;
        uint64_t id;

        if (field->type != WIRE_BYTES) {
                flows_add(flows, n, field->value);
                return;
        }
        wire_reader_init_field(&reader, field);
        while (is_fixed && reader.end - reader.at >= 8) {
                id = 0;
                for (size_t i = 0; i < 8; i++)
                        id |= (uint64_t)*reader.at++ << (8 * i);
                flows_add(flows, n, id);
        }
        while (!is_fixed && reader.at < reader.end && wire_read_varint(&reader, &id) == 0)
                flows_add(flows, n, id);
}

static void event_take(TraceImport *import,
                       const TraceSequence *sequence,
                       Event *event,
                       const WireField *field) {
        switch (field->number) {
        case TRACK_EVENT_TYPE:
                if (field->value == 0 || field->value > TYPE_COUNTER)
                        break;
                event->type = field->value;
                event->is_async = false;
                break;
        case TRACK_EVENT_LEGACY:
                event_take_legacy(import, sequence, event, field);
                break;
        case TRACK_EVENT_TRACK_UUID:
                event->track_uuid = field->value;
                event->has_track = true;
                break;
        case TRACK_EVENT_NAME_IID:
                if (!trace_sequence_find(
                            sequence, TRACE_INTERNED_EVENT_NAME, field->value, &event->name))
                        import->n_unknown_names++;
                break;
        case TRACK_EVENT_NAME:
                if (field->type == WIRE_BYTES)
                        event->name = import_text(import, field);
                break;
        case TRACK_EVENT_CATEGORY_IIDS:
                event_take_categories(import, sequence, event, field);
                break;
        case TRACK_EVENT_CATEGORIES:
                if (field->type == WIRE_BYTES)
                        event_add_category(import, event, import_text(import, field));
                break;
        case TRACK_EVENT_COUNTER_VALUE:
                event->value = (double)(int64_t)field->value;
                break;
        case TRACK_EVENT_DOUBLE_COUNTER_VALUE:
                memcpy(&event->value, &field->value, sizeof(event->value));
                break;
        case TRACK_EVENT_OLD_FLOW_IDS:
        case TRACK_EVENT_FLOW_IDS:
                flows_take(event->flows,
                           &event->n_flows,
                           field,
                           field->number == TRACK_EVENT_FLOW_IDS);
                break;
        case TRACK_EVENT_OLD_ENDING_FLOW_IDS:
        case TRACK_EVENT_ENDING_FLOW_IDS:
                flows_take(event->ending,
                           &event->n_ending,
                           field,
                           field->number == TRACK_EVENT_ENDING_FLOW_IDS);
                break;
        }
}

static bool extra_take_flows(TraceImport *import, ImportExtra *extra, const Event *event) {
        size_t n = event->n_flows + event->n_ending;

        extra->flow = (uint32_t)import->n_flows;
        extra->n_flows = (uint32_t)n;
        extra->n_ending = (uint32_t)event->n_ending;
        if (n == 0)
                return true;
        if (import->n_flows + n > UINT32_MAX || trace_reserve((void **)&import->flows,
                                                              &import->n_flows_allocated,
                                                              import->n_flows + n,
                                                              sizeof(*import->flows)))
                return false;
        memcpy(import->flows + import->n_flows, event->flows, event->n_flows * sizeof(uint64_t));
        memcpy(import->flows + import->n_flows + event->n_flows,
               event->ending,
               event->n_ending * sizeof(uint64_t));
        import->n_flows += n;
        return true;
}

/* What does not fit into the entry. */
static void
entry_add_extra(TraceImport *import, TraceEntry *entry, const Event *event, uint32_t args) {
        ImportExtra extra = { .category = event->category,
                              .args = args,
                              .duration_ns = event->duration_ns };

        entry->c = event->category;
        if (args == TRACE_NONE && event->n_flows + event->n_ending == 0 &&
            event->type != TYPE_COMPLETE)
                return;
        if (import->n_extras == UINT32_MAX || !extra_take_flows(import, &extra, event) ||
            trace_reserve((void **)&import->extras,
                          &import->n_extras_allocated,
                          import->n_extras + 1,
                          sizeof(extra))) {
                import->ran_out = true;
                return;
        }
        entry->flags |= IMPORT_HAS_EXTRA;
        entry->c = (uint32_t)import->n_extras;
        import->extras[import->n_extras++] = extra;
}

static void
queue_counter(TraceImport *import, TraceSequence *sequence, TraceEntry *entry, const Event *event) {
        const TraceTrackInfo *info = trace_tracks_info(&import->tracks, entry->a);
        double value = event->value;

        if (!info->is_counter) {
                import->n_unknown_names++;
                return;
        }
        if (info->unit_multiplier > 0)
                value *= (double)info->unit_multiplier;
        if (info->is_incremental)
                value = trace_sequence_add_up(sequence, info->uuid, value);
        entry->kind = IMPORT_COUNTER;
        memcpy(&entry->b, &value, sizeof(value));
        import_queue(import, sequence->lane, entry);
}

static uint32_t event_slot(TraceImport *import, const TraceSequence *sequence, const Event *event) {
        uint64_t uuid = event->has_track              ? event->track_uuid
                        : sequence->has_default_track ? sequence->default_track
                                                      : 0;

        if (event->is_async)
                return trace_tracks_async_slot(&import->tracks,
                                               event->async_id,
                                               event->id_scope ? event->id_scope : event->category,
                                               event->name,
                                               event->is_local ? sequence->pid : 0);
        return trace_tracks_slot(&import->tracks, uuid);
}

void import_track_event(TraceImport *import, const ImportPacket *packet, const WireField *payload) {
        static const uint8_t kinds[] = {
                [TYPE_SLICE_BEGIN] = IMPORT_BEGIN,
                [TYPE_SLICE_END] = IMPORT_END,
                [TYPE_INSTANT] = IMPORT_INSTANT,
                [TYPE_COMPLETE] = IMPORT_COMPLETE,
        };
        TraceSequence *sequence = packet->sequence;
        TraceEntry entry = { .at_ns = packet->at_ns };
        WireReader reader;
        WireField field;
        Event event;

        event = (Event){ .duration_ns = -1 };
        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                event_take(import, sequence, &event, &field);
        if (event.type == 0 || !packet->has_time)
                return;
        entry.a = event_slot(import, sequence, &event);
        if (entry.a == TRACE_NONE)
                return;
        if (event.type == TYPE_COUNTER) {
                queue_counter(import, sequence, &entry, &event);
                return;
        }
        entry.kind = kinds[event.type];
        entry.b = event.name;
        entry_add_extra(import, &entry, &event, import_event_args(import, sequence, payload));
        import_queue(import, sequence->lane, &entry);
}

/*
 * Tracks
 */

static void take_owner(TraceTrackInfo *info, const WireField *message, bool is_thread) {
        uint64_t numbers[3];

        import_numbers(message, numbers, ARRAY_SIZE(numbers));
        info->has_pid = true;
        info->pid = (int32_t)numbers[1];
        if (is_thread) {
                info->has_tid = true;
                info->tid = (int32_t)numbers[2];
        }
}

static void take_counter(TraceImport *import, TraceTrackInfo *info, const WireField *message) {
        static const char *const units[] = { NULL, "ns", "count", "bytes" };
        WireReader reader;
        WireField field;

        info->is_counter = true;
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 3 && field.type == WIRE_VARINT && field.value > 0 &&
                    field.value < ARRAY_SIZE(units))
                        info->unit = trace_pool_add_text(&import->store->pool, units[field.value]);
                else if (field.number == 4 && field.type == WIRE_VARINT)
                        info->unit_multiplier = (int64_t)field.value;
                else if (field.number == 5 && field.type == WIRE_VARINT)
                        info->is_incremental = field.value != 0;
                else if (field.number == 6 && field.type == WIRE_BYTES && !info->unit)
                        info->unit = import_text(import, &field);
                else if (field.number == 2 && field.type == WIRE_BYTES && !info->category)
                        info->category = import_text(import, &field);
        }
}

/* TrackDescriptor. */
static void track_take(TraceImport *import, TraceTrackInfo *info, const WireField *field) {
        if (field->type != WIRE_BYTES) {
                if (field->number == 1)
                        info->uuid = field->value;
                else if (field->number == 5)
                        info->parent_uuid = field->value;
                else if (field->number == 15)
                        info->is_alone = field->value == 2;
                return;
        }
        switch (field->number) {
        case 2:
        case 10: /* static_name */
        case 13: /* atrace_name */
                info->name = import_text(import, field);
                break;
        case 3:
                take_owner(info, field, false);
                break;
        case 4:
                take_owner(info, field, true);
                break;
        case 8:
                take_counter(import, info, field);
                break;
        case 14:
                info->description = import_text(import, field);
                break;
        case 16:
                info->key = import_text(import, field);
                break;
        }
}

void import_track_descriptor(TraceImport *import,
                             const ImportPacket *packet,
                             const WireField *track) {
        TraceTrackInfo info = { 0 };
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, track);
        while (wire_read(&reader, &field) > 0)
                track_take(import, &info, &field);
        trace_tracks_describe(&import->tracks, &info);
}

/* Of Chromium's older format: the thread that a sequence's events are of, unless they say otherwise. */
void import_thread_descriptor(TraceImport *import,
                              const ImportPacket *packet,
                              const WireField *thread) {
        const uint64_t key = UINT64_C(1) << 63 | packet->sequence->id;
        uint64_t numbers[3];
        TraceTrackInfo info;

        import_numbers(thread, numbers, ARRAY_SIZE(numbers));
        info = (TraceTrackInfo){ .uuid = key,
                                 .has_pid = true,
                                 .pid = (int32_t)numbers[1],
                                 .has_tid = true,
                                 .tid = (int32_t)numbers[2] };
        trace_tracks_describe(&import->tracks, &info);
        packet->sequence->default_track = key;
        packet->sequence->has_default_track = true;
}

/*
 * Second pass
 */

static void
name_owner(TraceImport *import, const WireField *message, bool is_thread, uint32_t owner) {
        WireField name = { 0 }, field;
        WireReader reader;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                if (field.type == WIRE_BYTES && field.number == (is_thread ? 5u : 6u))
                        name = field;
        if (!name.data)
                return;
        if (is_thread)
                trace_threads_name(
                        &import->threads, owner, import_text(import, &name), TRACE_RANK_DESCRIPTOR);
        else
                trace_threads_name_process(
                        &import->threads, owner, import_text(import, &name), TRACE_RANK_TREE);
}

/* A pid means whoever has it at the time of the description: it may be another's later. */
void apply_track_descriptor(TraceImport *import, uint64_t at_ns, const WireField *track) {
        TraceTrackInfo info = { 0 };
        WireReader reader;
        WireField field;
        uint32_t owner;

        wire_reader_init_field(&reader, track);
        while (wire_read(&reader, &field) > 0)
                track_take(import, &info, &field);
        if (!info.has_pid)
                return;
        owner = trace_tracks_owner(&import->tracks, trace_tracks_slot(&import->tracks, info.uuid));
        if (owner == TRACE_NONE)
                return;
        wire_reader_init_field(&reader, track);
        while (wire_read(&reader, &field) > 0)
                if (field.type == WIRE_BYTES && (field.number == 3 || field.number == 4))
                        name_owner(import, &field, field.number == 4, owner);
}

static void flow_row(TraceImport *import, uint32_t from, uint32_t to) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_FLOW);
        uint32_t row = trace_table_add(table);

        if (row == TRACE_NONE)
                return;
        trace_table_set(table, FLOW_OUT, row, from);
        trace_table_set(table, FLOW_IN, row, to);
}

/* The first slice with an id begins a flow, and each later one goes on with it, until one ends it. */
static void slice_add_flows(TraceImport *import, uint32_t slice, const ImportExtra *extra) {
        for (uint32_t i = 0; i < extra->n_flows; i++) {
                uint64_t id = import->flows[extra->flow + i];
                uint64_t before = trace_map_find(&import->open_flows, id);
                bool ends = i >= extra->n_flows - extra->n_ending;

                if (before != TRACE_MAP_NONE && before != TRACE_NONE)
                        flow_row(import, (uint32_t)before, slice);
                if (ends && before == TRACE_MAP_NONE)
                        continue;
                if (trace_map_set(&import->open_flows, id, ends ? TRACE_NONE : slice))
                        import->ran_out = true;
        }
}

void apply_track_event(TraceImport *import, const TraceEntry *entry) {
        static const ImportExtra no_extra = { .args = TRACE_NONE };
        const ImportExtra *extra =
                entry->flags & IMPORT_HAS_EXTRA ? &import->extras[entry->c] : &no_extra;
        uint32_t category = entry->flags & IMPORT_HAS_EXTRA ? extra->category : entry->c;
        TraceTrackUse use = entry->kind == IMPORT_BEGIN ? TRACE_TRACK_BEGIN
                            : entry->kind == IMPORT_END ? TRACE_TRACK_END
                                                        : TRACE_TRACK_INSTANT;
        int64_t at_ns = (int64_t)entry->at_ns, dur = 0;
        uint32_t track = trace_tracks_slice(&import->tracks, entry->a, use, entry->b), slice;

        if (track == TRACE_NONE)
                return;
        if (entry->kind == IMPORT_BEGIN)
                dur = -1;
        else if (entry->kind == IMPORT_COMPLETE)
                dur = extra->duration_ns;
        if (entry->kind == IMPORT_END)
                slice = trace_slices_end(
                        &import->slices, track, at_ns, category, entry->b, extra->args);
        else
                slice = trace_slices_begin(
                        &import->slices, track, at_ns, dur, category, entry->b, extra->args);
        if (slice != TRACE_NONE)
                slice_add_flows(import, slice, extra);
}

void apply_counter(TraceImport *import, const TraceEntry *entry) {
        double value;

        memcpy(&value, &entry->b, sizeof(value));
        import_value(import, trace_tracks_counter(&import->tracks, entry->a), entry->at_ns, value);
}
