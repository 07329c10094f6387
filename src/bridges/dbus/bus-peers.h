/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bus peers: connections to a bus, whose programs they are, and which names they own
 *
 * A connection has a unique name, which the bus never gives to another; the bus's own name does not look like one. All
 * other names are owned by connections. The bus has to be asked about the owner of a name: bus_peers_next_question().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/program-names.h"
#include "shared/list.h"

#define BUS_PEERS_MAX    8192 /* names that are known at a time */
#define BUS_PEER_BUCKETS 1024
#define BUS_PEERS_RECENT 16
#define BUS_ITSELF       "org.freedesktop.DBus"

typedef struct BusPeer {
        List bucket;
        List question; /* bus_peers_next_question() */
        List calls;    /* the recorder's: calls of this peer that are not answered yet */
        List served;   /* the recorder's: calls to this peer that it has not answered yet */
        uint32_t calling, serving; /* lanes in use: bits */
        struct {
                uint32_t n_cleared; /* the track writer's epoch when these tracks were described */
                uint64_t calls, served; /* tracks of the first lanes; 0: not known */
        } tracks;  /* the recorder's; cleared once the peer's process is known */
        pid_t pid; /* 0: not known */
        uint64_t process_uuid;
        char process[PROGRAM_NAME_BYTES];
        char *owner; /* the owner of a name that is not unique; NULL: none, or unknown */
        char name[];
} BusPeer;

typedef struct BusPeers {
        List buckets[BUS_PEER_BUCKETS];
        List questions;
        /* The peers that were looked up last, by the ends of their names, or NULL. Nearly all messages are between a
         * few peers, and a keyed hash takes longer than everything else. */
        BusPeer *recent[BUS_PEERS_RECENT];
        size_t n;
} BusPeers;

void bus_peers_init(BusPeers *peers);
void bus_peers_deinit(BusPeers *peers);

/* Whether the name is a connection's own, unique one. */
bool bus_name_is_unique(const char *name);

/* Returns NULL if it is not known. */
BusPeer *bus_peers_find(BusPeers *peers, const char *name);
/* Makes a new peer if need be, about which the bus will be asked. Returns NULL if memory has run out, or
 * BUS_PEERS_MAX are known. */
BusPeer *bus_peers_get(BusPeers *peers, const char *name);
/* The connection behind any name. Returns NULL if it is not known. */
BusPeer *bus_peers_resolve(BusPeers *peers, const char *name);
/* `owner` is "" when nobody owns the name now. */
void bus_peers_set_owner(BusPeers *peers, const char *name, const char *owner);
/* Its calls must not be on any list. */
void bus_peers_remove(BusPeers *peers, BusPeer *peer);

/* Takes the next name that the bus has not been asked about; NULL when it was asked about all of them. */
BusPeer *bus_peers_next_question(BusPeers *peers);
/* Puts back a name that was taken, to be asked about later. */
void bus_peers_put_back(BusPeers *peers, BusPeer *peer);
