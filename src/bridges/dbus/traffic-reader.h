/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Traffic reader: the bytes of a monitor's connection, as messages without bodies
 *
 * Sans-I/O. Only the names in a message's header are kept; the body is skipped, however long it is. There is one
 * exception: the body of the bus's own NameOwnerChanged, which names the new owner. Object paths of peers that keep
 * secrets are dropped, as they contain the names of these secrets.
 */

#include "bridges/dbus/traffic-ring.h"

#define TRAFFIC_BUFFER_BYTES (256u << 10)
#define TRAFFIC_HEADER_BYTES_MAX \
        (64u << 10) /* a message with a longer header is dropped and counted */

typedef struct TrafficReader {
        TrafficRing *ring; /* borrowed */
        uint8_t *buffer;   /* TRAFFIC_BUFFER_BYTES */
        size_t n;          /* bytes that are in it */
        uint64_t n_skip;   /* bytes of a body that are still to come */
        uint64_t (*now_ns)(void);
        _Atomic uint64_t n_messages;
        bool has_newcomer; /* a peer has appeared that should be asked about at once; the caller clears it */
} TrafficReader;

/* Returns 0 or -ENOMEM. */
int traffic_reader_init(TrafficReader *reader, TrafficRing *ring, uint64_t (*now_ns)(void));
void traffic_reader_deinit(TrafficReader *reader);

/* Where the next bytes go; there is always room. */
void *traffic_reader_room(TrafficReader *reader, size_t *ret_n);
/* `n` bytes have come. Returns 0, or -EBADMSG when they are not D-Bus. */
int traffic_reader_take(TrafficReader *reader, size_t n);
