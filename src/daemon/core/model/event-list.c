/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Clock snapshots and lifecycle events that wait for the next read. */

#include "core/model/bytes-writer.h"
#include "core/model/service.h"
#include "core/model/session.h"

uint64_t snapshot_find(const ClockSnapshot *snapshot, uint32_t clock_id) {
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

/* UINT64_MAX: only the one at the start, or not even that. */
uint64_t session_snapshot_period_ns(const Session *session) {
        const Perfetto__Protos__TraceConfig__BuiltinDataSource *config =
                session->config->pb->builtin_data_sources;

        if (config && config->disable_clock_snapshotting)
                return UINT64_MAX;
        return config_period_ns(config ? config->snapshot_interval_ms : 0,
                                SESSION_SNAPSHOT_INTERVAL_NS);
}

/* Trace readers convert every other clock to BOOTTIME by these. */
void session_snapshot_clocks(Session *session) {
        Service *service = session->service;
        ClockSnapshot snapshot;

        if (session_snapshot_period_ns(session) == UINT64_MAX)
                return;
        snapshot.n = service->ops->read_clocks(service->userdata, snapshot.readings);
        clock_ring_add(&session->clocks, &snapshot);
}
