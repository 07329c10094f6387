/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus: the D-Bus transport
 *
 * Converts between D-Bus and the core: method calls become calls of the core, the core's requests become method calls
 * on producers, its changes become signals. The same objects are served on the message bus and on every accepted socket
 * (point to point).
 *
 * The core must not be entered again from inside its own calls, and a connection must not be freed from inside its own
 * dispatch. So code that runs inside either only queues what it has to send, and bus_settle() sends it: the main loop
 * calls that after everything else and before it sleeps.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "bus/link/call-places.h"
#include "bus/link/doorbells.h"
#include "bus/link/event-names.h"
#include "bus/link/guard.h"
#include "bus/link/hub.h"
#include "bus/link/signal-room.h"
#include "bus/link/turns.h"
#include "core/service.h"
#include "gate/gate.h"
#include "owner/owned-session.h"
#include "shared/list.h"
#include "shared/macro.h"

/* Limits, besides those of core/model/service-limits.h. */
#define BUS_REQUESTS_PER_CLIENT_MAX 64   /* calls not answered yet */
#define BUS_CALLS_MAX               96   /* outstanding on the message bus, which allows 128 */
#define BUS_CALLS_OF_ONE_USER_MAX   1024 /* the same, on a bus that is no other user's */
#define BUS_CALLS_PER_PRODUCER_MAX  4    /* of these, so that no silent producer takes them all */
#define BUS_CALLS_QUEUED_MAX        4096 /* of one producer; with more it is disconnected */
#define BUS_CALLS_QUEUED_BYTES_MAX  (2u << 20) /* the same, of the configs in them */
#define BUS_CALL_BYTES              1280 /* what a call that waits takes at least, as it was measured */
#define BUS_CALLS_PER_TURN \
        128 /* that are sent, before others have their turn: on the bus, and on sockets */

/* Limits of ListCategories(). */
#define BUS_CATEGORIES_MAX        16384
#define BUS_CATEGORIES_OF_ONE_MAX 4096 /* of one producer */
#define BUS_CATEGORIES_BYTES_MAX  (4u << 20)

/* The shortest time between two signals with counters. */
#define BUS_COUNTERS_INTERVAL_NS (UINT64_C(500) * 1000000)

typedef struct Client Client;
typedef struct Bus Bus;

typedef enum BusKind {
        BUS_MANAGER,
        BUS_SESSION,
        BUS_BUFFER,
        BUS_PRODUCER,
        BUS_SOURCE,
        _BUS_KIND_N,
} BusKind;

/* What is served at a path and below it. */
typedef struct BusInterface {
        const char *path;
        const char *name;
        const sd_bus_vtable *vtable;
        sd_bus_object_find_t find;          /* NULL: there is one object, the Bus itself */
        sd_bus_node_enumerator_t enumerate; /* NULL: others list these objects */
} BusInterface;

struct Bus {
        sd_event *event;
        Service *service;
        const ServiceInfo *info;
        const BusInterface *interfaces; /* by BusKind; bus-emit.c signals their properties */

        Hub hub;      /* of the clients on sockets */
        Gates *gates; /* likewise */
        sd_event_source *gates_source;
        Doorbells doorbells;
        sd_bus *message_bus; /* NULL in a standalone instance */
        const Guard *guards; /* of the configuration */
        size_t n_guards;
        bool keeps;     /* sessions are kept for the process that comes after this one */
        bool is_shared; /* the system bus: its users must not see each other, and polkit is there */

        struct BusLine *line; /* to the message bus; NULL: no bus, or no longer used */
        Turns turns;          /* of calls on the message bus */
        uint64_t turns_run_at;
        sd_bus_message *granted; /* the call that was set aside and has its turn now */
        bool is_second_time;     /* it was held */
        sd_bus_message *tried;   /* the call in dispatch, if a long reply to it is kept back */
        uid_t tried_user;

        List unknowns; /* Unknown (bus-identity.c) */
        size_t n_unknown_messages;
        void *clients_by_name; /* tsearch(3) tree of those on the message bus */
        List clients;
        List listeners;           /* of these, who are sent signals */
        size_t n_private_clients; /* of these, on sockets */
        Client *caller; /* sender of the message in dispatch, for callbacks that sd-bus does not pass the message */

        void *sources_by_name; /* tsearch(3) tree of BusSource */
        List dirty_sources;    /* BusSource */

        OwnedSessions sessions; /* BusSession.owned */
        List producers;         /* BusProducer */
        size_t n_away;          /* of these */
        List queries;           /* PolkitQuery */
        List activate_requests; /* ActivateRequest */
        List events_requests;   /* EventsRequest that wait for the probes */
        EventNames events;

        /* Work for bus_settle(). */
        List gone;                /* Client */
        CallPlaces bus_places;    /* for calls to producers on the message bus */
        CallPlaces socket_places; /* and on sockets, where each has a connection of its own */
        List parked;         /* ProducerCall of suspended programs, the next to be checked first */
        bool counts_changed; /* NumSessions, NumProducers */
        bool has_released;   /* a session with much memory has gone, so the heap may be trimmed */

        SignalRoom signal_room;

        uint64_t n_calls_received;

        uint64_t counters_due_at; /* UINT64_MAX: nothing to signal */
        uint64_t counters_sent_at;
};

/* BOOTTIME at the beginning of this turn of the main loop. */
uint64_t bus_now(Bus *bus);

/* Call it when data may have arrived: changed counters are signalled at the next interval. */
void bus_counters_changed(Bus *bus);
/* The same for other properties that are signalled together with counters. */
void bus_signals_due(Bus *bus);
