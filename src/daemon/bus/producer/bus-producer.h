/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Making and freeing the objects of producers. */

#include "bus/object/bus-producer.h"

/* Returns 0, PRODUCER_E_… or an errno. `identity` differs from the client's if a proxy stands between them. */
int bus_producer_new(BusProducer **ret,
                     Client *client,
                     const Identity *identity,
                     const char *name,
                     const ProducerOptions *options);

/* Makes only the object, for a producer of another transport; the object must be freed before the producer. It is
 * announced with its first sources: bus_producer_sources_changed(). */
int bus_producer_new_foreign(BusProducer **ret, Bus *bus, Producer *foreign);
/* For bus-return.c, which makes them from what the earlier process has left. */
extern const ProducerOps bus_producer_ops;
int bus_producer_allocate(BusProducer **ret, Bus *bus);
int bus_producer_name_path(BusProducer *producer);
/* Begins SetupTracing() with the memory, a new doorbell and a new bell; its dictionary is still open. */
int bus_producer_new_setup(BusProducer *producer, uint32_t page_bytes, sd_bus_message **ret);

BusProducer *bus_producer_free(BusProducer *producer);
DEFINE_CLEANUP(BusProducer *, bus_producer_free)
