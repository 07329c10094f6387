/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Calls in their order: which may be sent now, what a reply means to the core, and what happens to those of a suspended
 * program.
 */

#include <assert.h>
#include <errno.h>

#include "bus/producer/producer-call.h"
#include "shared/log-user.h"
#include "shared/names.h"

typedef struct ProducerCall {
        BusProducer *producer;
        ProducerCallKind kind;
        uint64_t id;
        size_t n_bytes;
        bool starts; /* a setup that also starts the source */
        sd_bus_message *message;
        bool is_unsent;
        sd_bus_slot *slot; /* of the reply that is awaited */
        uint64_t sent_at;  /* or parked */
        List link;         /* producer->calls */
        List queue_link;   /* producer->unsent, or bus->parked */
} ProducerCall;

static void on_tracing_failed(Producer *producer, uint64_t id, const char *why, uint64_t now);
static void on_nothing(Producer *producer, uint64_t id, uint64_t now);
static void on_flush_failed(Producer *producer, uint64_t id, const char *why, uint64_t now);
static void on_stop_failed(Producer *producer, uint64_t id, const char *why, uint64_t now);

/* What a reply and an error reply mean to the core. If a flush or stop fails, it is over as well. */
/* clang-format off */
static const struct {
        const char *member;
        void (*done)(Producer *producer, uint64_t id, uint64_t now);
        void (*failed)(Producer *producer, uint64_t id, const char *why, uint64_t now);
} call_kinds[_PRODUCER_CALL_N] = {
        [PRODUCER_CALL_SETUP_TRACING] = { "SetupTracing", on_nothing, on_tracing_failed },
        [PRODUCER_CALL_SETUP_SOURCE]  = { "SetupDataSource", on_nothing, producer_source_failed },
        [PRODUCER_CALL_START_SOURCE]  = { "StartDataSource", producer_source_started, producer_source_failed },
        [PRODUCER_CALL_STOP_SOURCE]   = { "StopDataSource", producer_source_stopped, on_stop_failed },
        [PRODUCER_CALL_FLUSH]         = { "Flush", producer_flushed, on_flush_failed },
        [PRODUCER_CALL_CLEAR_STATE]   = { "ClearIncrementalState", on_nothing, on_tracing_failed },
};
/* clang-format on */

static void on_nothing(Producer *producer, uint64_t id, uint64_t now) {
}

static void on_tracing_failed(Producer *producer, uint64_t id, const char *why, uint64_t now) {
        log_user(producer_identity(producer)->uid,
                 LOG_NOTICE,
                 "producer \"%s\" (pid %d): %s",
                 producer_name(producer),
                 (int)producer_identity(producer)->pid,
                 why);
}

static void on_flush_failed(Producer *producer, uint64_t id, const char *why, uint64_t now) {
        on_tracing_failed(producer, id, why, now);
        producer_flushed(producer, id, now);
}

static void on_stop_failed(Producer *producer, uint64_t id, const char *why, uint64_t now) {
        on_tracing_failed(producer, id, why, now);
        producer_source_stopped(producer, id, now);
}

static Bus *call_bus(const ProducerCall *call) {
        return call->producer->bus;
}

/* Cancels the wait for the reply. */
static void call_take_back(ProducerCall *call) {
        if (!call->slot)
                return;
        call->slot = sd_bus_slot_unref(call->slot);
        called_returned(&call->producer->called);
}

static void call_leave_queue(ProducerCall *call) {
        list_unlink(&call->queue_link);
        if (!call->is_unsent)
                return;
        call->is_unsent = false;
        called_drop(&call->producer->called);
}

static ProducerCall *producer_call_free(ProducerCall *call) {
        call_take_back(call);
        call_leave_queue(call);
        assert(call->producer->n_calls > 0 && call->producer->n_call_bytes >= call->n_bytes);
        call->producer->n_calls--;
        call->producer->n_call_bytes -= call->n_bytes;
        charge_shrink(&call->producer->call_charge, BUS_CALL_BYTES + call->n_bytes);
        sd_bus_message_unref(call->message);
        list_unlink(&call->link);
        free(call);
        return NULL;
}

/* The peer has gone without an answer, which is no refusal: a program may end while its start is under way. sd-bus
 * or the message bus then sends an error reply in its place before the timeout, and perhaps before we hear of the
 * end of the connection. */
static bool peer_has_left(const ProducerCall *call, const sd_bus_error *error) {
        if (sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY))
                return bus_now(call_bus(call)) <
                       call->sent_at + PRODUCER_CALL_TIMEOUT_USEC * UINT64_C(1000);
        return sd_bus_error_has_name(error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
               sd_bus_error_has_name(error, SD_BUS_ERROR_NAME_HAS_NO_OWNER) ||
               sd_bus_error_has_name(error, SD_BUS_ERROR_DISCONNECTED);
}

static bool call_asks_for_start(const ProducerCall *call) {
        return call->kind == PRODUCER_CALL_START_SOURCE ||
               (call->kind == PRODUCER_CALL_SETUP_SOURCE && call->starts);
}

/* A suspended program starts its source when it resumes, which may be long after the call has timed out. The call
 * does not occupy a place meanwhile; afterwards the program is asked again, and reports whether it has started. */
static bool call_park(ProducerCall *call) {
        if (!call_asks_for_start(call) || !producer_is_suspended(call->producer->producer))
                return false;
        call_take_back(call);
        call->kind = PRODUCER_CALL_START_SOURCE;
        call->sent_at = bus_now(call_bus(call));
        list_append(&call_bus(call)->parked, &call->queue_link);
        return true;
}

/* The program has ended the instance on its own, as it does before it exits: that has the effect of a stop. */
static bool is_stopped_already(ProducerCallKind kind, const sd_bus_error *failure) {
        return kind == PRODUCER_CALL_STOP_SOURCE &&
               sd_bus_error_has_name(failure, TRACING_ERROR_WRONG_STATE);
}

static int on_call_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        ProducerCall *call = userdata;
        Bus *bus = call_bus(call);
        Producer *producer = call->producer->producer;
        const ProducerCallKind kind = call->kind == PRODUCER_CALL_SETUP_SOURCE && call->starts
                                              ? PRODUCER_CALL_START_SOURCE
                                              : call->kind;
        const uint64_t id = call->id;
        const sd_bus_error *failure = sd_bus_message_get_error(reply);

        if (failure && peer_has_left(call, failure)) {
                client_is_gone(call->producer->client); /* and with it the call */
                return 0;
        }
        if (failure && sd_bus_error_has_name(failure, SD_BUS_ERROR_NO_REPLY) && call_park(call))
                return 0;
        producer_call_free(call);
        if (failure && !is_stopped_already(kind, failure))
                call_kinds[kind].failed(
                        producer, id, failure->message ?: failure->name, bus_now(bus));
        else
                call_kinds[kind].done(producer, id, bus_now(bus));
        return 0;
}

/* This became known only while the call waited in the queue. */
static int call_complete(ProducerCall *call) {
        if (call->kind == PRODUCER_CALL_SETUP_SOURCE)
                return call->starts
                               ? sd_bus_message_append(call->message, "a{sv}", 1, "start", "b", 1)
                               : sd_bus_message_append(call->message, "a{sv}", 0);
        return 0;
}

/* Memory is passed without a reply: a producer that cannot use it reports that when it is to set up a source. */
static int call_hand_over(ProducerCall *call) {
        sd_bus *connection = call->producer->client->connection;
        int r;

        r = call_complete(call);
        if (r < 0)
                return r;
        if (call->kind != PRODUCER_CALL_SETUP_TRACING)
                return sd_bus_call_async(connection,
                                         &call->slot,
                                         call->message,
                                         on_call_reply,
                                         call,
                                         PRODUCER_CALL_TIMEOUT_USEC);
        r = sd_bus_message_set_expect_reply(call->message, false);
        return r < 0 ? r : sd_bus_send(connection, call->message, NULL);
}

static void call_send(ProducerCall *call) {
        int r;

        if (call->producer->client->is_gone) {
                producer_call_free(call);
                return;
        }
        hub_touch(&call->producer->client->hub_link);
        r = call_hand_over(call);
        if (r < 0) {
                /* It is not worth a log line that a program has just ended. */
                log_user(call->producer->client->identity.uid,
                         r == -ENOTCONN || r == -ECONNRESET || r == -EPIPE ? LOG_DEBUG : LOG_NOTICE,
                         "cannot call %s: %s",
                         client_describe(call->producer->client),
                         strerror(-r));
                client_is_gone(call->producer->client);
                producer_call_free(call);
                return;
        }
        if (!call->slot) {
                producer_call_free(call); /* that was all */
                return;
        }
        call->message = sd_bus_message_unref(call->message);
        call->sent_at = bus_now(call_bus(call));
        call->is_unsent = false;
        list_unlink(&call->queue_link);
        called_send(&call->producer->called);
}

static void send_some(const CallPlaces *places) {
        Called *called;

        for (unsigned n = 0; n < BUS_CALLS_PER_TURN && (called = call_places_next(places)); n++)
                call_send(list_first(&container_of(called, BusProducer, called)->unsent,
                                     ProducerCall,
                                     queue_link));
}

void bus_send_calls(Bus *bus) {
        send_some(&bus->socket_places);
        send_some(&bus->bus_places);
}

bool bus_has_calls_to_send(const Bus *bus) {
        return call_places_next(&bus->socket_places) || call_places_next(&bus->bus_places);
}

static void call_unpark(ProducerCall *call) {
        BusProducer *producer = call->producer;
        const uint64_t id = call->id;
        sd_bus_message *message;
        int r;

        producer_call_free(call);
        r = producer_call_message(&message, producer, PRODUCER_CALL_START_SOURCE);
        if (r >= 0)
                r = sd_bus_message_append(message, "t", id);
        if (r >= 0)
                producer_call(producer, PRODUCER_CALL_START_SOURCE, id, 0, message);
        else
                client_is_gone(producer->client);
}

uint64_t bus_parked_deadline(const Bus *bus) {
        if (list_is_empty(&bus->parked))
                return UINT64_MAX;
        return list_entry(bus->parked.next, ProducerCall, queue_link)->sent_at +
               PRODUCER_CALL_TIMEOUT_USEC * UINT64_C(1000);
}

void bus_look_at_parked(Bus *bus, uint64_t now) {
        while (bus_parked_deadline(bus) <= now) {
                ProducerCall *call = list_entry(bus->parked.next, ProducerCall, queue_link);

                if (!producer_is_suspended(call->producer->producer)) {
                        call_unpark(call);
                        continue;
                }
                call->sent_at = now;
                list_unlink(&call->queue_link);
                list_append(&bus->parked, &call->queue_link);
        }
}

int producer_call_message(sd_bus_message **ret, BusProducer *producer, ProducerCallKind kind) {
        return sd_bus_message_new_method_call(producer->client->connection,
                                              ret,
                                              producer->client->name,
                                              TRACING_PRODUCER_OBJECT,
                                              TRACING_PRODUCER_INTERFACE,
                                              call_kinds[kind].member);
}

/* Returns 0, or -ENOBUFS or -ENOMEM. */
static int producer_charge_call(BusProducer *producer, size_t n_bytes, const char **ret_limit) {
        Charge *charge = &producer->call_charge;
        int r = 0;

        *ret_limit = producer->n_calls >= BUS_CALLS_QUEUED_MAX ? "BUS_CALLS_QUEUED_MAX"
                     : producer->n_call_bytes + n_bytes > BUS_CALLS_QUEUED_BYTES_MAX
                             ? "BUS_CALLS_QUEUED_BYTES_MAX"
                             : NULL;
        if (*ret_limit)
                return -ENOBUFS;
        *ret_limit = "SERVICE_CALL_BYTES";
        if (!charge->owner)
                r = service_charge_calls(producer->bus->service, charge, producer->client->user);
        if (r == 0)
                r = charge_grow(charge, BUS_CALL_BYTES + n_bytes);
        return r > 0 ? -ENOBUFS : r;
}

static int producer_join_places(BusProducer *producer) {
        Bus *bus = producer->bus;

        return called_add(&producer->called,
                          client_is_private(producer->client) ? &bus->socket_places
                                                              : &bus->bus_places,
                          producer->client->user);
}

/* Returns 0, or -ENOBUFS if a limit leaves no room for one more, or -ENOMEM. */
static int producer_new_call(BusProducer *producer,
                             ProducerCall **ret,
                             size_t n_bytes,
                             const char **ret_limit) {
        _cleanup_(freep) ProducerCall *call = NULL;
        int r;

        r = producer_charge_call(producer, n_bytes, ret_limit);
        if (r < 0)
                return r;
        call = calloc(1, sizeof(*call));
        r = call ? producer_join_places(producer) : -ENOMEM;
        if (r < 0) {
                charge_shrink(&producer->call_charge, BUS_CALL_BYTES + n_bytes);
                return r;
        }
        call->producer = producer;
        call->is_unsent = true;
        call->n_bytes = n_bytes;
        producer->n_calls++;
        producer->n_call_bytes += n_bytes;
        list_append(&producer->calls, &call->link);
        list_append(&producer->unsent, &call->queue_link);
        *ret = TAKE(call);
        return 0;
}

void producer_call(BusProducer *producer,
                   ProducerCallKind kind,
                   uint64_t id,
                   size_t n_bytes,
                   sd_bus_message *message) {
        const char *limit;
        ProducerCall *call;
        int r;

        if (producer->client->is_gone) {
                sd_bus_message_unref(message);
                return;
        }
        r = producer_new_call(producer, &call, n_bytes, &limit);
        if (r < 0) {
                log_user(producer->client->identity.uid,
                         LOG_NOTICE,
                         "%s does not answer (%s), disconnecting",
                         client_describe(producer->client),
                         r == -ENOBUFS ? limit : strerror(-r));
                sd_bus_message_unref(message);
                client_is_gone(producer->client);
                return;
        }
        call->kind = kind;
        call->id = id;
        call->message = message;
}

bool producer_call_joins_setup(BusProducer *producer, uint64_t id) {
        ProducerCall *call;

        /* The setup is most likely the last one. */
        for (List *at = producer->unsent.previous; at != &producer->unsent; at = at->previous) {
                call = list_entry(at, ProducerCall, queue_link);
                if (call->id != id || call->kind != PRODUCER_CALL_SETUP_SOURCE)
                        continue;
                call->starts = true;
                return true;
        }
        return false;
}

bool producer_call_is_pending(const BusProducer *producer, uint64_t id) {
        const ProducerCall *call;

        list_for_each (call, &producer->calls, link)
                if (call->id == id)
                        return true;
        return false;
}

void producer_call_done(BusProducer *producer, ProducerCallKind kind, uint64_t id) {
        call_kinds[kind].done(producer->producer, id, bus_now(producer->bus));
}

void producer_calls_drop(BusProducer *producer) {
        ProducerCall *call;

        list_for_each (call, &producer->calls, link) {
                producer_call_free(call);
        }
}
