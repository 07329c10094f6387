/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Clock snapshots and events that nobody has read, as bytes. */

#include <errno.h>

#include "core/life/past-unsaid.h"
#include "shared/hash.h"

enum {
        CLOCKS_READING = 1,
};

enum {
        READING_CLOCK = 1,
        READING_NS,
};

enum {
        EVENT_KIND = 1,
        EVENT_NS,
        EVENT_SOURCES,
        EVENT_BUFFER,
};

/*
 * Written
 */

uint64_t past_unsaid_revision(const Session *session) {
        const EventList *events = &session->events;
        const ClockRing *clocks = &session->clocks;

        if (session->options.has_output)
                return 0;
        /* One that goes because there are too many leaves its place to a later one. */
        return hash_add(hash_add(hash_add(HASH_BASIS, clocks->first), clocks->n),
                        events->n > 0 ? events->records[events->n - 1].ns + events->n : 0);
}

static void put_clocks(WireWriter *writer, uint32_t field, const ClockSnapshot *snapshot) {
        const size_t begin = wire_begin(writer, field);

        for (size_t i = 0; i < snapshot->n; i++) {
                const size_t reading = wire_begin(writer, CLOCKS_READING);

                wire_put_uint(writer, READING_CLOCK, snapshot->readings[i].clock_id);
                wire_put_uint(writer, READING_NS, snapshot->readings[i].ns);
                wire_end(writer, reading);
        }
        wire_end(writer, begin);
}

static void put_event(WireWriter *writer, uint32_t field, const EventRecord *event) {
        const size_t begin = wire_begin(writer, field);

        wire_put_uint(writer, EVENT_KIND, event->event);
        wire_put_uint(writer, EVENT_NS, event->ns);
        if (event->sources.n > 0)
                wire_put_bytes(writer, EVENT_SOURCES, event->sources.data, event->sources.n);
        wire_put_uint(writer, EVENT_BUFFER, event->buffer);
        wire_end(writer, begin);
}

void past_put_unsaid(WireWriter *writer, const Session *session, uint32_t clocks, uint32_t event) {
        const ClockRing *ring = &session->clocks;

        if (session->options.has_output)
                return;
        for (size_t i = 0; i < ring->n; i++)
                put_clocks(writer, clocks, &ring->snapshots[(ring->first + i) % CLOCK_RING_MAX]);
        for (size_t i = 0; i < session->events.n; i++)
                put_event(writer, event, &session->events.records[i]);
}

/*
 * Read
 */

static int take_reading(ClockReading *ret, const WireField *from) {
        WireReader reader;
        WireField field;
        int r;

        *ret = (ClockReading){};
        wire_reader_init_field(&reader, from);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number == READING_CLOCK)
                        ret->clock_id = (uint32_t)field.value;
                else if (field.number == READING_NS)
                        ret->ns = field.value;
        }
        return r;
}

int past_take_clocks(Session *session, const WireField *from) {
        ClockSnapshot snapshot = {};
        WireReader reader;
        WireField field;
        int r;

        if (from->type != WIRE_BYTES)
                return -EBADMSG;
        wire_reader_init_field(&reader, from);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number != CLOCKS_READING)
                        continue;
                if (field.type != WIRE_BYTES || snapshot.n == CLOCK_READINGS_MAX)
                        return -EBADMSG;
                r = take_reading(&snapshot.readings[snapshot.n++], &field);
                if (r < 0)
                        return r;
        }
        if (r == 0 && snapshot.n > 0)
                clock_ring_add(&session->clocks, &snapshot);
        return r;
}

static int take_event_fields(EventRecord *event, const WireField *from) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init_field(&reader, from);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number == EVENT_KIND)
                        event->event = (ServiceEvent)field.value;
                else if (field.number == EVENT_NS)
                        event->ns = field.value;
                else if (field.number == EVENT_BUFFER)
                        event->buffer = (uint32_t)field.value;
                else if (field.number == EVENT_SOURCES && field.type == WIRE_BYTES)
                        r = bytes_append(&event->sources, field.data, field.n_bytes);
                if (r < 0)
                        return r;
        }
        return r;
}

int past_take_event(Session *session, const WireField *field) {
        EventRecord event = {};
        int r;

        if (field->type != WIRE_BYTES)
                return -EBADMSG;
        r = take_event_fields(&event, field);
        /* One of a kind that this version does not know is left out. */
        if (r == 0 && event.event >= EVENT_ALL_SOURCES_STARTED &&
            event.event <= EVENT_BUFFER_CLONED) {
                event_list_add(&session->events, event.event, event.ns, &event.sources);
                session->events.records[session->events.n - 1].buffer = event.buffer;
        }
        bytes_deinit(&event.sources);
        return r;
}
