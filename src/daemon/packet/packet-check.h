/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Packet check: what a producer's packet must be before it may go into a trace
 *
 * A trace is a concatenation of packets of producers that do not trust each other. The service does not decode a
 * packet, but it walks its top level: the bytes must be a protobuf message, and must not contain fields that only
 * the service may write (who the packet is from, and what the service itself says about a session), nor fields that
 * its producer may not write (packet-rules.h). Then the trusted fields are appended, in a piece of their own.
 *
 * Field numbers are those of perfetto.protos.TracePacket
 * (protos/perfetto/trace/trace_packet.proto).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "packet/packet-rules.h"

#define PACKET_BYTES_MAX ((1u << 28) - 1)

/* What the walk has found. */
typedef struct PacketFacts {
        uint32_t data_field; /* the first field that says what the packet is about; 0: none */
        uint32_t dropped;    /* previous_packet_dropped, as the producer put it; 0: not there */
        uint32_t sequence_flags;
        bool is_first_on_sequence; /* first_packet_on_sequence */
        uint64_t timestamp;        /* 0: not there */
        size_t n_bytes;            /* length of all slices together */
} PacketFacts;

enum {
        _PACKET_E_SUCCESS,
        PACKET_E_MALFORMED, /* not a protobuf message, or too long */
        PACKET_E_RESERVED,  /* contains a field that only the service may write */
        PACKET_E_FORBIDDEN, /* is about something that its producer may not write */
};

/* Slices may be cut anywhere, also inside a number. Returns 0, or an outcome; *ret is set on 0 only. */
int packet_check(const struct iovec *slices,
                 size_t n_slices,
                 const PacketRules *rules,
                 PacketFacts *ret);

/* What the service says about a producer's packet. */
typedef struct PacketTrust {
        uid_t uid;
        pid_t pid; /* 0: unknown */
        uint32_t sequence_id;
        uint32_t loss; /* LOSS_…, with PacketFacts.dropped or-ed in by the caller; 0: nothing is
                          missing */
} PacketTrust;

#define PACKET_TRUST_BYTES_MAX 48

/* Encodes the trusted fields, to be put behind the packet's last byte. Returns the number of bytes.
 */
size_t packet_put_trust(uint8_t ret[static PACKET_TRUST_BYTES_MAX], const PacketTrust *trust);

/* Encodes only the uid and the sequence, which every packet has: the first bytes of the above. */
size_t packet_put_trust_brief(uint8_t ret[static PACKET_TRUST_BYTES_MAX], const PacketTrust *trust);
