/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace packet: the envelope of a packet
 *
 * The service appends its trusted fields to what the producer wrote, so the whole envelope is read before the payload.
 * Readers of packets know for themselves which fields are payloads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire-reader.h"

/* A ring buffer overwrote something before this packet, so it is lost. */
#define TRACE_LOSS_IS_ONLY_A_RINGS (1 | 64)

typedef struct TracePacket {
        uint64_t timestamp;
        uint64_t loss;  /* 0: nothing was lost before it */
        uint32_t clock; /* 0: the sequence's default */
        uint32_t sequence_id;
        int32_t uid, pid;
        bool has_timestamp, is_cleared, needs_state;
        WireField interned, defaults; /* of type WIRE_BYTES if they are present */
} TracePacket;

#define TRACE_SEQUENCE_CLEARED     1
#define TRACE_SEQUENCE_NEEDS_STATE 2

static inline void trace_packet_take_flags(TracePacket *packet, uint64_t flags) {
        packet->is_cleared |= (flags & TRACE_SEQUENCE_CLEARED) != 0;
        packet->needs_state = (flags & TRACE_SEQUENCE_NEEDS_STATE) != 0;
}

/* Takes the numbers that nearly every packet has, in the form that they nearly always have, off the reader. */
static inline void trace_packet_take_usual(TracePacket *packet, WireReader *reader) {
        enum {
                TAG_TIMESTAMP = 8 << 3,
                TAG_SEQUENCE_ID = 10 << 3,
                TAG_SEQUENCE_FLAGS = 13 << 3,
        };
        const uint8_t *at = reader->at, *behind;

        while (reader->end - at >= 2) {
                if (at[0] == TAG_TIMESTAMP && reader->end - at > WIRE_VARINT_MAX) {
                        behind = wire_read_varint_inside(at + 1, &packet->timestamp);
                        if (!behind)
                                break;
                        packet->has_timestamp = true;
                        at = behind;
                        continue;
                }
                if (at[1] >= 0x80)
                        break;
                if (at[0] == TAG_SEQUENCE_ID)
                        packet->sequence_id = at[1];
                else if (at[0] == TAG_SEQUENCE_FLAGS)
                        trace_packet_take_flags(packet, at[1]);
                else
                        break;
                at += 2;
        }
        reader->at = at;
}

/* Returns false if the field does not belong to the envelope. */
bool trace_packet_take(TracePacket *packet, const WireField *field);

/* Reads scalar fields into an array, by number, and ignores other fields. Returns a set of bits for those that are
 * present. */
uint64_t trace_read_numbers(const WireField *message, uint64_t *ret, size_t n_ret);
