/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * BusSource: a data source behind an object path
 *
 * The objects are /org/desktrace/Tracing1/source/<name, encoded by sd_bus_path_encode()>, one for each name that some
 * producer offers, that could be activated, or that is the service's own. A peer sees only producers of users that it
 * may see (bus_producer_is_visible()), and only sources that such a producer offers. So both the content of an object
 * and its existence depend on who asks.
 *
 * Changes are signalled at most every BUS_COUNTERS_INTERVAL_NS, so that a desktop full of producers, registering as the
 * service starts, is one signal.
 */

#include <systemd/sd-bus.h>

#include "bus/link/connection.h"

#define SOURCE_SIGNALS_MAX 256 /* sources signalled at a time; the others follow later */

/* Users, each once. */
typedef struct UidSet {
        uid_t *uids;
        size_t n;
} UidSet;

typedef struct BusSource {
        Bus *bus;
        char *name;
        bool is_permanent; /* activatable, or the service's own: exists without producers */
        BusProducer **producers;
        size_t n_producers, n_allocated;
        List dirty_link; /* bus->dirty_sources: something is to be signalled */
        UidSet told;     /* viewers whose producers were signalled last */
        UidSet changed;  /* whose producers have come or gone since */
} BusSource;

/* Makes the permanent sources. Returns 0 or -ENOMEM. */
int bus_sources_init(Bus *bus);
void bus_sources_deinit(Bus *bus);

/* The producer offers this source now, has new details about it, or no longer offers a source of this name. */
int bus_source_offer(BusProducer *producer, const char *name);
void bus_source_withdraw(BusProducer *producer, const char *name);
void bus_source_withdraw_all(BusProducer *producer);

/* Returns NULL if no such. */
BusSource *bus_source_by_name(Bus *bus, const char *name);

/* `viewer` NULL: stands for everybody on a bus of one user. */
bool bus_source_exists(const BusSource *source, const Client *viewer);
int bus_source_append_producers(sd_bus_message *reply,
                                const BusSource *source,
                                const Client *viewer);

/* The categories that its producers know, each once and sorted. The array is malloc'ed, the names belong to the
 * producers. NULL: the producers know none, as those of the kernel's events. */
int bus_source_categories(const char ***ret,
                          size_t *ret_n,
                          const BusSource *source,
                          const Client *viewer);

/* Whether they are too long for signals, which go to every listener: those name the property only. What any viewer sees
 * counts, so that all are told the same. */
#define SOURCE_SIGNAL_CATEGORIES_BYTES_MAX (16u << 10)
bool bus_source_has_long_categories(const BusSource *source);

/* Whether a running producer has reported what configs of the source can choose from. */
bool bus_source_has_names(const BusSource *source);

/* Why the source cannot be recorded, if each of its producers says so or none could be started. Returns NULL if it
 * can, as far as is known. */
const char *bus_source_unavailable(const BusSource *source, const Client *viewer);

/* In the order of the names. */
void bus_source_for_each(Bus *bus,
                         void (*visit)(BusSource *source, void *userdata),
                         void *userdata);

/* Signals what has changed. */
void bus_sources_signal(Bus *bus);

/* How a change looks to the viewer: whether it sees a change, and whether the object existed before and exists now. */
bool bus_source_has_changed(const BusSource *source, const Client *viewer);
bool bus_source_was_told(const BusSource *source, const Client *viewer);
/* The source has just been signalled; and no producer offers it now. */
void bus_source_note_told(BusSource *source);
void bus_source_drop(BusSource *source);

extern const sd_bus_vtable bus_source_vtable[];

/* For sd_bus_add_fallback_vtable() and sd_bus_add_node_enumerator(); userdata is the Bus. */
int bus_source_find(sd_bus *connection,
                    const char *path,
                    const char *interface,
                    void *userdata,
                    void **ret_found,
                    sd_bus_error *error);
int bus_source_enumerate(sd_bus *connection,
                         const char *prefix,
                         void *userdata,
                         char ***ret_nodes,
                         sd_bus_error *error);
