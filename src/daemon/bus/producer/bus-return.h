/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Producers that were the process's before this one, and that come back to the memory that they have
 *
 * Until its program registers again and names the memory's key, such a producer is away. What it had committed is
 * taken, but nothing can be asked of it. The key alone is not enough: the program must also have the uid and the pid
 * that it had.
 */

#include "bus/producer/bus-producer.h"
#include "core/producer-restore.h"

#define BUS_AWAY_NS \
        (UINT64_C(30) * 1000000000) /* libdesktrace gives up before: CONNECTION_AWAY_NS */

/* After the sessions, before anybody is served. Takes the descriptor of the memory over on success only; if the program
 * has ended, *ret is NULL then. What producer_restore() returns, or an errno. */
int bus_producer_restore(BusProducer **ret,
                         Bus *bus,
                         const ProducerPast *past,
                         const uint8_t key[static BUS_PRODUCER_KEY_BYTES],
                         int memory_fd);

/* The one whose memory this is; NULL: none of that program. */
BusProducer *bus_away_find(Bus *bus, const Identity *identity, const void *key, size_t n_key);
/* It is this client's from now on, which is told so before this returns; the core is to be told, too:
 * producer_return(). 0 or a negative errno, and then it is still away. */
int bus_away_return(BusProducer *producer, Client *client);

/* A program has come without a key: it has given up what it had before. */
void bus_away_forget(Bus *bus, const Identity *identity);

/* When the first one is given up on; UINT64_MAX: none is away. */
uint64_t bus_away_deadline(const Bus *bus);
void bus_away_tick(Bus *bus, uint64_t now);
/* All of them. */
void bus_away_end(Bus *bus);
