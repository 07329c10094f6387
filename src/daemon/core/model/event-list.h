/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Two small stores for what the service will write into the trace: clock snapshots and events of a session's life
 *
 * Both wait for the next read. events/service-packets.h encodes them.
 */

#include "core/model/peer.h"
#include "shared/bytes.h"

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
 * otherwise it adds nothing. Once that one was read, the next is kept in any case, so that each piece of a stream
 * can be understood on its own. Zero-initialised is empty. */
typedef struct ClockRing {
        ClockSnapshot snapshots[CLOCK_RING_MAX];
        size_t first, n;
} ClockRing;

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

void clock_ring_add(ClockRing *ring, const ClockSnapshot *snapshot);

/* The time by that clock; 0: the snapshot lacks it. */
uint64_t snapshot_find(const ClockSnapshot *snapshot, uint32_t clock_id);

/* false: none left. */
bool clock_ring_take(ClockRing *ring, ClockSnapshot *ret);

/* `sources` may be NULL, and is emptied otherwise. */
void event_list_add(EventList *list, ServiceEvent event, uint64_t ns, Bytes *sources);
void event_list_add_buffer(EventList *list, ServiceEvent event, uint64_t ns, uint32_t buffer);
void event_list_clear(EventList *list);

/* Into an empty one. Out of memory loses names. */
void event_list_copy(EventList *list, const EventList *from);

/* Forgets an event that nobody has read and that no longer holds. */
void event_list_forget(EventList *list, ServiceEvent event);

/* Adds a DataSources.DataSource to an event's names. */
void event_sources_add(Bytes *sources, const char *producer, const char *source);
void session_snapshot_clocks(Session *session);

uint64_t session_snapshot_period_ns(const Session *session);
