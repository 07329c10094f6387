/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * BusProducer: a producer of the core behind a D-Bus connection
 *
 * Carries the core's requests (ProducerOps) to the peer as method calls of org.desktrace.Tracing1.Producer and their
 * replies back, and owns the shared memory and the doorbell. Belongs to its Client, and ends with it.
 */

#include "bus/link/call-places.h"
#include "bus/link/connection.h"
#include "bus/link/doorbells.h"
#include "bus/link/producer-home.h"
#include "core/producer.h"

typedef enum ProducerCallKind {
        PRODUCER_CALL_SETUP_TRACING,
        PRODUCER_CALL_SETUP_SOURCE,
        PRODUCER_CALL_START_SOURCE,
        PRODUCER_CALL_STOP_SOURCE,
        PRODUCER_CALL_FLUSH,
        PRODUCER_CALL_CLEAR_STATE,
        _PRODUCER_CALL_N,
} ProducerCallKind;

#define BUS_PRODUCER_KEY_BYTES 16

struct BusProducer {
        Bus *bus;
        Client *client; /* NULL: it came by another transport, which owns the producer; or it is away */
        Producer *producer;
        char *path;
        bool is_announced;
        bool has_other_pids; /* in another pid namespace */
        ProducerHome home;

        bool is_away; /* of the process before; its program has not come back to its memory yet */
        uint64_t away_until;
        sd_event_source *end; /* of its process, while it is away; NULL: it cannot be watched */

        void *memory;
        size_t n_memory;
        int memory_fd; /* for the process that comes after this one; -1: nobody keeps anything */
        /* The program proves to the next process with this key that the memory is its own. It is given to nobody
         * else. */
        uint8_t key[BUS_PRODUCER_KEY_BYTES];
        struct {
                ProducerCallKind kind;
                uint64_t id;
        } asked[SMB_REQUESTS];
        int bell; /* rung for requests in the memory; -1: it does not know them */
        Doorbell doorbell;

        List link;     /* bus->producers */
        List calls;    /* ProducerCall, in order */
        List unsent;   /* of these */
        Called called; /* its turns */
        size_t n_calls;
        size_t n_call_bytes; /* configs in them */
        Charge call_charge;
};

/* Users see their own producers and those of the system. */
bool bus_uid_is_visible(const Bus *bus, uid_t uid, const Client *client);
bool bus_producer_is_visible(const BusProducer *producer, const Client *client);
