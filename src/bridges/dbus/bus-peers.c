/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bus peers: connections to a bus, whose programs they are, and which names they own */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bridges/dbus/bus-peers.h"
#include "shared/siphash.h"

void bus_peers_init(BusPeers *peers) {
        *peers = (BusPeers){};
        for (size_t i = 0; i < BUS_PEER_BUCKETS; i++)
                list_init(&peers->buckets[i]);
        list_init(&peers->questions);
}

void bus_peers_deinit(BusPeers *peers) {
        for (size_t i = 0; i < BUS_PEER_BUCKETS; i++)
                while (!list_is_empty(&peers->buckets[i]))
                        bus_peers_remove(peers, list_first(&peers->buckets[i], BusPeer, bucket));
        assert(peers->n == 0 && list_is_empty(&peers->questions));
}

bool bus_name_is_unique(const char *name) {
        return name[0] == ':' || streq(name, BUS_ITSELF);
}

static size_t bucket_of(const char *name) {
        return (size_t)(siphash_keyed(name, strlen(name)) % BUS_PEER_BUCKETS);
}

static BusPeer *find_in(const BusPeers *peers, size_t bucket, const char *name) {
        BusPeer *peer;

        list_for_each (peer, (List *)&peers->buckets[bucket], bucket)
                if (streq(peer->name, name))
                        return peer;
        return NULL;
}

/* Where the peer of that name is among the recent ones, if it is. */
static BusPeer **recent_place(BusPeers *peers, const char *name) {
        const size_t n = strlen(name);
        const unsigned last = n > 0 ? (uint8_t)name[n - 1] : 0,
                       before = n > 1 ? (uint8_t)name[n - 2] : 0;

        return &peers->recent[(last + 10 * before) % BUS_PEERS_RECENT];
}

static BusPeer *find_recent(BusPeers *peers, const char *name) {
        BusPeer *peer = *recent_place(peers, name);

        return peer && streq(peer->name, name) ? peer : NULL;
}

BusPeer *bus_peers_find(BusPeers *peers, const char *name) {
        BusPeer *peer = find_recent(peers, name);

        if (peer)
                return peer;
        peer = find_in(peers, bucket_of(name), name);
        if (peer)
                *recent_place(peers, name) = peer;
        return peer;
}

BusPeer *bus_peers_get(BusPeers *peers, const char *name) {
        const size_t n_name = strlen(name);
        BusPeer *peer = bus_peers_find(peers, name);

        if (peer || peers->n >= BUS_PEERS_MAX)
                return peer;
        peer = calloc(1, sizeof(*peer) + n_name + 1);
        if (!peer)
                return NULL;
        memcpy(peer->name, name, n_name + 1);
        list_init(&peer->calls);
        list_init(&peer->served);
        list_append(&peers->buckets[bucket_of(name)], &peer->bucket);
        list_append(&peers->questions, &peer->question);
        peers->n++;
        return peer;
}

BusPeer *bus_peers_resolve(BusPeers *peers, const char *name) {
        BusPeer *peer = bus_peers_find(peers, name);

        if (!peer || bus_name_is_unique(name))
                return peer;
        return peer->owner ? bus_peers_find(peers, peer->owner) : NULL;
}

void bus_peers_set_owner(BusPeers *peers, const char *name, const char *owner) {
        BusPeer *peer = bus_peers_get(peers, name);

        if (!peer)
                return;
        list_unlink(&peer->question); /* it has been answered */
        free(peer->owner);
        peer->owner = bus_name_is_unique(owner) ? strdup(owner) : NULL;
        if (!peer->owner)
                bus_peers_remove(peers, peer);
}

void bus_peers_remove(BusPeers *peers, BusPeer *peer) {
        assert(list_is_empty(&peer->calls) && list_is_empty(&peer->served));
        assert(peer->calling == 0 && peer->serving == 0);
        if (find_recent(peers, peer->name) == peer)
                *recent_place(peers, peer->name) = NULL;
        list_unlink(&peer->bucket);
        list_unlink(&peer->question);
        free(peer->owner);
        free(peer);
        peers->n--;
}

BusPeer *bus_peers_next_question(BusPeers *peers) {
        BusPeer *peer = list_first(&peers->questions, BusPeer, question);

        if (peer)
                list_unlink(&peer->question);
        return peer;
}

void bus_peers_put_back(BusPeers *peers, BusPeer *peer) {
        list_append(&peers->questions, &peer->question);
}
