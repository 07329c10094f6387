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

/* Returns false if the field does not belong to the envelope. */
bool trace_packet_take(TracePacket *packet, const WireField *field);

/* Reads scalar fields into an array, by number, and ignores other fields. Returns a set of bits for those that are
 * present. */
uint64_t trace_read_numbers(const WireField *message, uint64_t *ret, size_t n_ret);
