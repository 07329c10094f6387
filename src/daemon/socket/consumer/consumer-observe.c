/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* ObserveEvents: the events that a consumer receives while its session runs. */

#include "consumer-private.h"

/* Fields of perfetto.protos.ObserveEventsRequest, its response, and ObservableEvents. */
enum {
        OBSERVE_EVENTS = 1,

        OBSERVED_EVENTS = 1,
        EVENTS_INSTANCE_STATE = 1,
        EVENTS_ALL_STARTED = 2,
        EVENTS_CLONE_TRIGGER = 3,

        STATE_PRODUCER = 1,
        STATE_SOURCE = 2,
        STATE_STATE = 3,
        STATE_STOPPED = 1,
        STATE_STARTED = 2,

        TRIGGER_SESSION_ID = 1,
        TRIGGER_NAME = 2,
};

/* The bits of OBSERVE_EVENTS. */
enum {
        OBSERVES_INSTANCES = 1 << 0,
        OBSERVES_ALL_STARTED = 1 << 1,
        OBSERVES_CLONE_TRIGGERS = 1 << 2,
};

#define EVENT_BYTES_MAX 1024 /* names have limits */

static bool consumer_observes(const Consumer *consumer, unsigned what) {
        return consumer->observe.is_open && consumer->events & what;
}

/* Sends one event as a message of its own. */
typedef struct EventReply {
        uint8_t memory[EVENT_BYTES_MAX];
        WireWriter writer;
        size_t events;
} EventReply;

static void event_begin(EventReply *event) {
        wire_writer_init(&event->writer, event->memory, sizeof(event->memory));
        event->events = wire_begin(&event->writer, OBSERVED_EVENTS);
}

static void event_send(EventReply *event, Consumer *consumer) {
        wire_end(&event->writer, event->events);
        if (!wire_writer_failed(&event->writer))
                port_reply(consumer->connection,
                           &consumer->observe.request,
                           true,
                           event->memory,
                           wire_writer_size(&event->writer));
}

static void tell_instance(Consumer *consumer, const InstanceInfo *info) {
        EventReply event;
        size_t state;

        event_begin(&event);
        state = wire_begin(&event.writer, EVENTS_INSTANCE_STATE);
        wire_put_string(&event.writer, STATE_PRODUCER, info->producer);
        wire_put_string(&event.writer, STATE_SOURCE, info->source);
        wire_put_uint(&event.writer,
                      STATE_STATE,
                      info->state == INSTANCE_STARTED ? STATE_STARTED : STATE_STOPPED);
        wire_end(&event.writer, state);
        event_send(&event, consumer);
}

/* A new observer is told the current state. */
static void tell_all_instances(Consumer *consumer) {
        InstanceCursor cursor = {};
        InstanceInfo info;

        while (session_next_instance(consumer->session->owned.session, &cursor, &info))
                if (info.state != INSTANCE_MISSING)
                        tell_instance(consumer, &info);
}

static void tell_all_started(Consumer *consumer) {
        EventReply event;

        if (consumer->has_told_all_started ||
            !session_all_started(consumer->session->owned.session) ||
            !consumer_observes(consumer, OBSERVES_ALL_STARTED))
                return;
        consumer->has_told_all_started = true;
        event_begin(&event);
        wire_put_bool(&event.writer, EVENTS_ALL_STARTED, true);
        event_send(&event, consumer);
}

/* Changes are taken even if nobody observes them, so that a later observer does not receive old ones. */
void consumer_tell_events(ConsumerSession *session) {
        Consumer *consumer = session->consumer;
        InstanceInfo info;

        while (session_take_changed_instance(session->owned.session, &info)) {
                if (session->observer)
                        session->observer->session_source(session->observed, &info);
                if (consumer && consumer_observes(consumer, OBSERVES_INSTANCES))
                        tell_instance(consumer, &info);
        }
        if (consumer)
                tell_all_started(consumer);
}

/* The peer fetches it by a CloneSession of this number. */
void consumer_tell_snapshot(Consumer *consumer,
                            const ConsumerSession *snapshot,
                            const char *trigger) {
        EventReply event;
        size_t hit;

        if (!consumer_observes(consumer, OBSERVES_CLONE_TRIGGERS))
                return;
        event_begin(&event);
        hit = wire_begin(&event.writer, EVENTS_CLONE_TRIGGER);
        wire_put_uint(&event.writer, TRIGGER_SESSION_ID, session_id(snapshot->owned.session));
        wire_put_string(&event.writer, TRIGGER_NAME, trigger);
        wire_end(&event.writer, hit);
        event_send(&event, consumer);
}

/* The numbers come one per field, or packed. */
static int read_events(const void *data, size_t n, unsigned *ret) {
        WireReader reader, packed;
        uint64_t value;
        WireField field;
        int r;

        *ret = 0;
        wire_reader_init(&reader, data, n);
        while ((r = wire_read(&reader, &field)) > 0) {
                if (field.number != OBSERVE_EVENTS)
                        continue;
                if (field.type == WIRE_VARINT)
                        *ret |= (unsigned)field.value;
                if (field.type != WIRE_BYTES)
                        continue;
                wire_reader_init_field(&packed, &field);
                while (packed.at < packed.end) {
                        r = wire_read_varint(&packed, &value);
                        if (r < 0)
                                return r;
                        *ret |= (unsigned)value;
                }
        }
        return r;
}

/* A stream that was open before is closed properly; a request to observe nothing closes this one, too. */
int consumer_observe_events(void *port, const PortRequest *request, const void *data, size_t n) {
        Consumer *consumer = port;
        int r;

        r = read_events(data, n, &consumer->events);
        if (r < 0)
                return r;
        if (consumer->observe.is_open)
                consumer_call_reply(consumer, &consumer->observe, NULL, 0);
        consumer_call_open(consumer, &consumer->observe, request);
        consumer->has_told_all_started = false;
        if (!consumer->events) {
                consumer_call_reply(consumer, &consumer->observe, NULL, 0);
                return 0;
        }
        if (consumer->session && consumer_observes(consumer, OBSERVES_INSTANCES))
                tell_all_instances(consumer);
        if (consumer->session)
                consumer_tell_events(consumer->session);
        return 0;
}
