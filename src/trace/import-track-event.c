/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Track events: slices, instants, states and counters of programs
 */

#include <string.h>

#include "trace/import.h"
#include "trace/trace-track-descriptor.h"
#include "trace/trace-track-event.h"

/* One event, whose names are numbers in the pool. */
typedef struct Event {
        uint32_t name, category;
        TraceTrackEvent raw;
} Event;

/*
 * First pass
 */

static bool find_text(TraceImport *import,
                      const TraceSequence *sequence,
                      TraceInterned kind,
                      const TraceEventText *text,
                      uint32_t *ret) {
        if (text->data) {
                *ret = trace_pool_add(&import->store->pool, text->data, text->n);
                return true;
        }
        if (LIKELY(trace_sequence_find(sequence, kind, text->iid, ret)))
                return true;
        import->n_unknown_names++;
        return false;
}

static uint32_t
event_category_at(TraceImport *import, const TraceSequence *sequence, const TraceEventText *text) {
        uint32_t category;

        if (find_text(import, sequence, TRACE_INTERNED_CATEGORY, text, &category))
                return category;
        return trace_pool_add_format(
                &import->store->pool, "unknown(%llu)", (unsigned long long)text->iid);
}

/* Joins several categories with commas. */
static void
event_find_categories(TraceImport *import, const TraceSequence *sequence, Event *event) {
        TracePool *pool = &import->store->pool;

        for (size_t i = 0; i < event->raw.n_categories; i++) {
                uint32_t more = event_category_at(import, sequence, &event->raw.categories[i]);
                const char *before = trace_pool_text(pool, event->category);
                const char *text = trace_pool_text(pool, more);

                event->category =
                        i == 0 ? more
                               : trace_pool_add_format(
                                         pool, "%s,%s", before ? before : "", text ? text : "");
        }
}

static void event_read(TraceImport *import,
                       const TraceSequence *sequence,
                       Event *event,
                       const WireField *payload) {
        event->name = event->category = 0;
        trace_track_event_read(&event->raw, payload);
        if (event->raw.has_name)
                find_text(import,
                          sequence,
                          TRACE_INTERNED_EVENT_NAME,
                          &event->raw.name,
                          &event->name);
        event_find_categories(import, sequence, event);
}

static bool extra_take_flows(TraceImport *import, ImportExtra *extra, const Event *event) {
        size_t n = event->raw.n_flows + event->raw.n_ending;

        extra->flow = (uint32_t)import->n_flows;
        extra->n_flows = (uint32_t)n;
        extra->n_ending = (uint32_t)event->raw.n_ending;
        if (n == 0)
                return true;
        if (import->n_flows + n > UINT32_MAX || trace_reserve((void **)&import->flows,
                                                              &import->n_flows_allocated,
                                                              import->n_flows + n,
                                                              sizeof(*import->flows)))
                return false;
        memcpy(import->flows + import->n_flows,
               event->raw.flows,
               event->raw.n_flows * sizeof(uint64_t));
        memcpy(import->flows + import->n_flows + event->raw.n_flows,
               event->raw.ending,
               event->raw.n_ending * sizeof(uint64_t));
        import->n_flows += n;
        return true;
}

/* The parts that do not fit into the entry. */
static void
entry_add_extra(TraceImport *import, TraceEntry *entry, const Event *event, uint32_t args) {
        ImportExtra extra = { .category = event->category,
                              .args = args,
                              .duration_ns = event->raw.duration_ns };

        entry->c = event->category;
        if (args == TRACE_NONE && event->raw.n_flows + event->raw.n_ending == 0 &&
            event->raw.type != TRACE_EVENT_COMPLETE)
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
        double value = event->raw.value;

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

/* Only a track that the event or its sequence names can be one of states. */
static void queue_state(TraceImport *import,
                        const TraceSequence *sequence,
                        TraceEntry *entry,
                        const Event *event,
                        uint32_t args) {
        if (!event->raw.has_track && !sequence->has_default_track) {
                import->n_unknown_names++;
                return;
        }
        entry->a = trace_tracks_slot(&import->tracks,
                                     event->raw.has_track ? event->raw.track_uuid
                                                          : sequence->default_track);
        if (entry->a == TRACE_NONE)
                return;
        entry->kind = IMPORT_STATE;
        entry->b = event->name;
        entry_add_extra(import, entry, event, args);
        import_queue(import, sequence->lane, entry);
}

/* The track of a sequence whose descriptor says that it belongs to a thread. */
static uint64_t thread_key(const TraceSequence *sequence) {
        return UINT64_C(1) << 63 | sequence->id;
}

/* An event without a track goes on the track of the sequence's thread, or of the thread that it names. */
static bool is_by_thread(const TraceTrackEvent *raw, const TraceSequence *sequence) {
        if (raw->has_track)
                return raw->track_uuid == 0 && raw->is_legacy;
        return !sequence->has_default_track || sequence->default_track == thread_key(sequence);
}

/* The thread's common track, if this is a track of a thread. */
static uint32_t thread_slot_of(TraceImport *import, uint32_t slot) {
        const TraceTrackInfo *info;

        if (slot == TRACE_NONE)
                return slot;
        info = trace_tracks_info(&import->tracks, slot);
        return info->has_tid ? trace_tracks_thread_slot(&import->tracks, info->tid, info->pid)
                             : slot;
}

static uint32_t event_slot(TraceImport *import, const TraceSequence *sequence, const Event *event) {
        const TraceTrackEvent *raw = &event->raw;
        bool by_thread = is_by_thread(raw, sequence);
        uint64_t uuid = raw->has_track && !by_thread  ? raw->track_uuid
                        : sequence->has_default_track ? sequence->default_track
                                                      : 0;
        uint32_t scope = event->category;

        if (!raw->is_async && by_thread && raw->has_track && raw->tid == 0 && uuid)
                return thread_slot_of(import, trace_tracks_slot(&import->tracks, uuid));
        if (!raw->is_async && by_thread && raw->tid > 0 && (raw->pid > 0 || sequence->pid > 0))
                return trace_tracks_thread_slot(
                        &import->tracks, raw->tid, raw->pid > 0 ? raw->pid : sequence->pid);
        if (!raw->is_async)
                return trace_tracks_slot(&import->tracks, uuid);
        if (raw->has_scope)
                scope = trace_pool_add(&import->store->pool, raw->scope.data, raw->scope.n);
        return trace_tracks_async_slot(&import->tracks,
                                       raw->async_id,
                                       scope,
                                       event->name,
                                       raw->async_kind == TRACE_ASYNC_LOCAL ? sequence->pid : 0);
}

void import_track_event(TraceImport *import, const ImportPacket *packet, const WireField *payload) {
        static const uint8_t kinds[] = {
                [TRACE_EVENT_BEGIN] = IMPORT_BEGIN,
                [TRACE_EVENT_END] = IMPORT_END,
                [TRACE_EVENT_INSTANT] = IMPORT_INSTANT,
                [TRACE_EVENT_COMPLETE] = IMPORT_COMPLETE,
        };
        TraceSequence *sequence = packet->sequence;
        TraceEntry entry = { .at_ns = packet->at_ns };
        Event event;

        event_read(import, sequence, &event, payload);
        if (event.raw.type == TRACE_EVENT_NONE || !packet->has_time)
                return;
        if (event.raw.type == TRACE_EVENT_STATE) {
                queue_state(import,
                            sequence,
                            &entry,
                            &event,
                            import_event_args(import, sequence, payload));
                return;
        }
        entry.a = event_slot(import, sequence, &event);
        if (entry.a == TRACE_NONE)
                return;
        if (event.raw.type == TRACE_EVENT_COUNTER) {
                queue_counter(import, sequence, &entry, &event);
                return;
        }
        entry.kind = kinds[event.raw.type];
        entry.b = event.name;
        entry_add_extra(import, &entry, &event, import_event_args(import, sequence, payload));
        import_queue(import, sequence->lane, &entry);
}

/*
 * Tracks
 */

static uint32_t unit_text(TraceImport *import, const TraceTrackDescriptor *descriptor) {
        const char *unit = trace_unit_name(descriptor->unit);

        return unit ? trace_pool_add_text(&import->store->pool, unit)
                    : import_optional_text(import, &descriptor->unit_name);
}

void import_track_descriptor(TraceImport *import,
                             const ImportPacket *packet,
                             const WireField *track) {
        TraceTrackDescriptor descriptor;
        TraceTrackInfo info;

        trace_track_descriptor_read(&descriptor, track);
        info = (TraceTrackInfo){
                .uuid = descriptor.uuid,
                .parent_uuid = descriptor.parent_uuid,
                .has_pid = descriptor.has_process || descriptor.has_thread,
                .has_tid = descriptor.has_thread,
                .pid = descriptor.pid,
                .tid = descriptor.tid,
                .name = import_optional_text(import, &descriptor.name),
                .description = import_optional_text(import, &descriptor.description),
                .is_counter = descriptor.is_counter,
                .is_incremental = descriptor.is_incremental,
                .is_state = descriptor.is_state && !descriptor.is_counter &&
                            !descriptor.has_process && !descriptor.has_thread,
                .is_alone = descriptor.is_alone,
                .is_separate = descriptor.is_separate,
                .key = import_optional_text(import, &descriptor.key),
                .unit = unit_text(import, &descriptor),
                .category = import_optional_text(import, &descriptor.category),
                .unit_multiplier = descriptor.unit_multiplier,
        };
        trace_tracks_describe(&import->tracks, &info);
}

/* In Chromium's older format: the thread of the sequence's events, unless an event names another. */
void import_thread_descriptor(TraceImport *import,
                              const ImportPacket *packet,
                              const WireField *thread) {
        const uint64_t key = thread_key(packet->sequence);
        uint64_t numbers[3];
        TraceTrackInfo info;

        trace_read_numbers(thread, numbers, ARRAY_SIZE(numbers));
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

static void name_process(TraceImport *import, uint32_t upid, const TraceTrackDescriptor *track) {
        import_process_start(import, upid, track->process_start_ns);
        trace_threads_name_process(&import->threads,
                                   upid,
                                   import_optional_text(import, &track->process_name),
                                   TRACE_RANK_TREE);
}

/* A pid in a descriptor means the process that has it at that time. Later, another process may have the pid. A
 * descriptor of a thread may have a process as well, and an earlier one with the same uuid may say something else: the
 * owner is what the slot says. */
void apply_track_descriptor(TraceImport *import, uint64_t at_ns, const WireField *track) {
        TraceTrackDescriptor descriptor;
        uint32_t slot, owner;

        trace_track_descriptor_read(&descriptor, track);
        if (!descriptor.has_process && !descriptor.has_thread)
                return;
        slot = trace_tracks_slot(&import->tracks, descriptor.uuid);
        owner = trace_tracks_owner(&import->tracks, slot);
        if (owner == TRACE_NONE)
                return;
        if (trace_tracks_info(&import->tracks, slot)->has_tid)
                trace_threads_name(&import->threads,
                                   owner,
                                   import_optional_text(import, &descriptor.thread_name),
                                   TRACE_RANK_DESCRIPTOR);
        else
                name_process(import, owner, &descriptor);
}

static void flow_row(TraceImport *import, uint32_t from, uint32_t to) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_FLOW);
        uint32_t row = trace_table_add(table);

        if (row == TRACE_NONE)
                return;
        trace_table_set(table, FLOW_OUT, row, from);
        trace_table_set(table, FLOW_IN, row, to);
}

/* The first slice with an id begins a flow, and each later one continues it until one of them ends it. */
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

static const ImportExtra *entry_extra(const TraceImport *import, const TraceEntry *entry) {
        static const ImportExtra no_extra = { .args = TRACE_NONE };

        return entry->flags & IMPORT_HAS_EXTRA ? &import->extras[entry->c] : &no_extra;
}

static uint32_t entry_category(const TraceImport *import, const TraceEntry *entry) {
        return entry->flags & IMPORT_HAS_EXTRA ? import->extras[entry->c].category : entry->c;
}

void apply_state(TraceImport *import, const TraceEntry *entry) {
        uint32_t track = trace_tracks_state(&import->tracks, entry->a, entry->b);

        if (track == TRACE_NONE)
                import->n_unknown_names++;
        else
                trace_track_states_set(&import->states,
                                       track,
                                       (int64_t)entry->at_ns,
                                       entry_category(import, entry),
                                       entry->b,
                                       entry_extra(import, entry)->args);
}

void apply_track_event(TraceImport *import, const TraceEntry *entry) {
        const ImportExtra *extra = entry_extra(import, entry);
        uint32_t category = entry_category(import, entry);
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
