/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * BusProducer: a producer of the core behind a D-Bus connection
 *
 * Carries the core's requests (ProducerOps) to the peer as method calls of org.desktrace.Tracing1.Producer and their
 * replies back, and owns the shared memory and the doorbell. Belongs to its Client, and ends with it.
 */

#include "bus/link/connection.h"
#include "bus/link/doorbells.h"
#include "bus/link/producer-home.h"
#include "core/producer.h"

/* How long to wait for the reply to one call. The core's own deadlines are shorter; this one only bounds how long
 * the call occupies a place. */
#define PRODUCER_CALL_TIMEOUT_USEC (UINT64_C(25) * 1000000)

typedef enum ProducerCallKind {
        PRODUCER_CALL_SETUP_TRACING,
        PRODUCER_CALL_SETUP_SOURCE,
        PRODUCER_CALL_START_SOURCE,
        PRODUCER_CALL_STOP_SOURCE,
        PRODUCER_CALL_FLUSH,
        PRODUCER_CALL_CLEAR_STATE,
        _PRODUCER_CALL_N,
} ProducerCallKind;

struct BusProducer {
        Bus *bus;
        Client *client; /* NULL: it came by another transport, which owns the producer */
        Producer *producer;
        char *path;
        bool is_announced;
        bool has_other_pids; /* in another pid namespace */
        ProducerHome home;

        void *memory;
        size_t n_memory;
        struct {
                ProducerCallKind kind;
                uint64_t id;
        } asked[SMB_REQUESTS];
        int bell; /* rung for requests in the memory; -1: it does not know them */
        Doorbell doorbell;

        List link;  /* bus->producers */
        List calls; /* ProducerCall, in order */
        size_t n_calls, n_calls_out;
        size_t n_call_bytes; /* configs in them */
};

/* 0, PRODUCER_E_… or an errno. `identity` differs from the client's if a proxy stands between them. */
int bus_producer_new(BusProducer **ret,
                     Client *client,
                     const Identity *identity,
                     const char *name,
                     const ProducerOptions *options);
/* Makes only the object, for a producer of another transport; the object must be freed before the producer. It is
 * announced with its first sources: bus_producer_sources_changed(). */
int bus_producer_new_foreign(BusProducer **ret, Bus *bus, Producer *foreign);
BusProducer *bus_producer_free(BusProducer *producer);
DEFINE_CLEANUP(BusProducer *, bus_producer_free)

/* Users see their own producers and those of the system. */
bool bus_uid_is_visible(const Bus *bus, uid_t uid, const Client *client);
bool bus_producer_is_visible(const BusProducer *producer, const Client *client);

extern const sd_bus_vtable bus_producer_vtable[];

/* For sd_bus_add_fallback_vtable() and sd_bus_add_node_enumerator(); userdata is the Bus. */
int bus_producer_find(sd_bus *connection,
                      const char *path,
                      const char *interface,
                      void *userdata,
                      void **ret_found,
                      sd_bus_error *error);
int bus_producer_enumerate(sd_bus *connection,
                           const char *prefix,
                           void *userdata,
                           char ***ret_nodes,
                           sd_bus_error *error);

/* The sources have changed; also announces the producer, if that has not been done. */
void bus_producer_sources_changed(BusProducer *producer);
