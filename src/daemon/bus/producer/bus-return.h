/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Producers of the earlier process, which come back to their memory
 *
 * Until its program registers again and names the memory's key, such a producer is away. Its commits are taken, but no
 * request can reach it. The key alone is not enough: the program must also have the uid and the pid that it had.
 */

#include "bus/producer/bus-producer.h"
#include "core/producer-restore.h"

#define BUS_AWAY_NS \
        (UINT64_C(30) * 1000000000) /* libdesktrace gives up earlier: CONNECTION_AWAY_NS */

/* After the sessions, before anybody is served. Takes the descriptor of the memory over on success only; if the program
 * has ended, *ret is NULL then. Returns what producer_restore() does, or an errno. */
int bus_producer_restore(BusProducer **ret,
                         Bus *bus,
                         const ProducerPast *past,
                         const uint8_t key[static BUS_PRODUCER_KEY_BYTES],
                         int memory_fd);

/* The producer whose memory this is; NULL: the program has none. */
BusProducer *bus_away_find(Bus *bus, const Identity *identity, const void *key, size_t n_key);
/* Gives the producer to this client, which is notified before this returns; the caller notifies the core:
 * producer_return(). Returns 0 or a negative errno, and then the producer is still away. */
int bus_away_return(BusProducer *producer, Client *client);

/* A program has come without a key, so it has given up its earlier memory. */
void bus_away_forget(Bus *bus, const Identity *identity);

/* When the first producer will be given up; UINT64_MAX: none is away. */
uint64_t bus_away_deadline(const Bus *bus);
void bus_away_tick(Bus *bus, uint64_t now);
/* All of them. */
void bus_away_end(Bus *bus);
