/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Traffic ring: what was seen on a bus, from the thread that reads to the loop that writes
 *
 * One thread puts, another one takes, without locks. A message is kept as the facts of its header, never with its body.
 * When the ring is full, messages are dropped and counted: the bus must not have to wait.
 *
 * The taker looks at a message twice: as soon as it can, to ask who its peers are before they leave, and again some
 * time later to write it, when the answers have come.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/dbus-frame.h"

#define TRAFFIC_RING_BYTES     (4u << 20)
#define TRAFFIC_PATH_BYTES_MAX 512 /* longer paths are cut */

typedef enum TrafficKind {
        TRAFFIC_MESSAGE,
        TRAFFIC_OWNER, /* a name has a new owner: `path` is the name, `sender` the owner or "" */
} TrafficKind;

/* `fields.n_fds` is not kept; texts are valid until the message is released. */
typedef struct Traffic {
        TrafficKind kind;
        uint64_t at_ns;   /* BOOTTIME, when it was read */
        uint64_t n_bytes; /* of the whole message */
        FrameFields fields;
} Traffic;

typedef struct TrafficRing {
        uint8_t *memory;
        _Atomic size_t head; /* what the taker has released; both count up for ever */
        _Atomic size_t tail; /* what was put */
        _Atomic uint64_t n_dropped;
        size_t looked; /* the taker's: the position up to which it has looked */
} TrafficRing;

/* Returns 0 or -ENOMEM. */
int traffic_ring_init(TrafficRing *ring);
void traffic_ring_deinit(TrafficRing *ring);

/* For the thread that reads. Returns false when the ring is full; the message is counted as lost. */
bool traffic_ring_put(TrafficRing *ring, const Traffic *traffic);

/* For the taker: the next message that it has not looked at yet, and the oldest one that it has not released.
 * Returns false when the ring holds no such message. */
bool traffic_ring_look(TrafficRing *ring, Traffic *ret);
bool traffic_ring_first(TrafficRing *ring, Traffic *ret);
/* Frees the memory of the oldest message. */
void traffic_ring_release(TrafficRing *ring);

static inline bool traffic_ring_is_empty(const TrafficRing *ring) {
        return atomic_load_explicit(&ring->tail, memory_order_acquire) ==
               atomic_load_explicit(&ring->head, memory_order_relaxed);
}
