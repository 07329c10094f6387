/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Track events: slices, instants and counters of programs
 */

#include <string.h>

#include "client/say.h"
#include "client/trace-state.h"
#include "trace/trace-track-event.h"

/* One event; the first category is enough for a summary. */
typedef struct Event {
        const char *name, *category;
        bool is_undecodable; /* a number stands for a name that is not in the file */
        TraceTrackEvent raw;
} Event;

static const char *
find_text(Packet *packet, TraceInterned kind, const TraceEventText *text, bool *is_undecodable) {
        uint32_t number;

        if (text->data)
                return trace_state_name(packet->summary, text->data, text->n);
        if (trace_sequence_find(packet->sequence->told, kind, text->iid, &number))
                return trace_state_numbered_name(packet->summary, number);
        *is_undecodable = true;
        return NULL;
}

static void event_read(Packet *packet, Event *event, const WireField *payload) {
        event->name = event->category = NULL;
        event->is_undecodable = false;
        trace_track_event_read(&event->raw, payload);
        if (event->raw.has_name)
                event->name = find_text(packet,
                                        TRACE_INTERNED_EVENT_NAME,
                                        &event->raw.name,
                                        &event->is_undecodable);
        if (event->raw.n_categories)
                event->category = find_text(packet,
                                            TRACE_INTERNED_CATEGORY,
                                            &event->raw.categories[0],
                                            &event->is_undecodable);
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
        /* So sources of ours say it; events of programs have a category. */
        if (event->name && !event->category && streq(event->name, "lost"))
                packet->summary->n_left_out++;
}

static void event_complete(Packet *packet, const Event *event, Track *track) {
        TraceSlice *slice = trace_state_slice(packet->summary, event->name, event->category);

        if (!slice)
                return;
        if (track->thread)
                track->thread->n_slices++;
        trace_slice_add(slice, event->raw.duration_ns > 0 ? (uint64_t)event->raw.duration_ns : 0);
}

static void event_counter(Packet *packet, const Event *event, Track *track) {
        if (track->counter)
                trace_counter_add(track->counter, event->raw.value);
        else
                packet->summary->n_unknown_names++;
}

/* The service's own events report what producers say that they do not record. */
static void packet_note(Packet *packet, const WireField *payload) {
        GPtrArray *notes = packet->summary->notes;
        g_autofree char *text = NULL;
        TraceTrackEvent event;
        WireField source;

        trace_track_event_read(&event, payload);
        if (!event.name.data || notes->len == TRACE_NOTES_MAX)
                return;
        if (!trace_track_event_note(&source, payload, "data source"))
                source = (WireField){ .data = (const uint8_t *)"" };
        text = g_strdup_printf("%.*s: %.*s",
                               (int)MIN(source.n_bytes, (size_t)TRACE_NAME_BYTES_MAX),
                               (const char *)source.data,
                               (int)MIN(event.name.n, (size_t)TRACE_NOTE_BYTES_MAX),
                               (const char *)event.name.data);
        g_ptr_array_add(notes, say_clean(text, strlen(text)));
}

/* A local id is one of its process, which the thread's track knows. Names are kept once, so their addresses tell
 * them apart. */
static Track *event_async_track(Packet *packet, const Event *event, const Track *of_thread) {
        const TraceTrackEvent *raw = &event->raw;
        const char *scope = event->category;
        AsyncId id = { .id = raw->async_id, .owner = -1, .is_kind = raw->async_kind };

        if (raw->has_scope)
                scope = trace_state_name(packet->summary, raw->scope.data, raw->scope.n);
        id.scope = (uintptr_t)scope;
        if (raw->async_kind == TRACE_ASYNC_LOCAL)
                id.owner = of_thread->thread ? of_thread->thread->pid
                                             : packet->sequence->producer->pid;
        return trace_state_async_track(packet->summary, &id);
}

static void event_apply(Packet *packet, const Event *event, Track *track) {
        static void (*const apply[_TRACE_EVENT_TYPE_N])(Packet *, const Event *, Track *) = {
                [TRACE_EVENT_BEGIN] = event_begin,       [TRACE_EVENT_END] = event_end,
                [TRACE_EVENT_INSTANT] = event_instant,   [TRACE_EVENT_COUNTER] = event_counter,
                [TRACE_EVENT_COMPLETE] = event_complete,
        };

        if (track && event->raw.is_async)
                track = event_async_track(packet, event, track);
        if (track && apply[event->raw.type])
                apply[event->raw.type](packet, event, track);
}

/* An event without a track is on its sequence's own track. */
static Track *event_track(Packet *packet, const TraceTrackEvent *event) {
        const TraceSequence *told = packet->sequence->told;
        uint64_t uuid = event->track_uuid ? event->track_uuid : told->default_track;

        return trace_state_track(packet->summary, uuid ? uuid : told->id);
}

void packet_track_event(Packet *packet, const WireField *payload) {
        Track *track;
        Event event;

        if (packet->summary->state->in_service_packet) {
                packet_note(packet, payload);
                return;
        }
        event_read(packet, &event, payload);
        track = event_track(packet, &event.raw);
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
