/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The D-Bus interface of producers. */

#include "bus/object/bus-producer.h"

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
