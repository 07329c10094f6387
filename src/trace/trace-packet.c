/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace packet: the envelope of a packet */

#include "trace/trace-packet.h"

#include <string.h>

/* Fields of perfetto.protos.TracePacket's envelope. */
enum {
        PACKET_TRUSTED_UID = 3,
        PACKET_TIMESTAMP = 8,
        PACKET_SEQUENCE_ID = 10,
        PACKET_INTERNED_DATA = 12,
        PACKET_SEQUENCE_FLAGS = 13,
        PACKET_CLEARED = 41,
        PACKET_PREVIOUS_DROPPED = 42,
        PACKET_TIMESTAMP_CLOCK = 58,
        PACKET_DEFAULTS = 59,
        PACKET_TRUSTED_PID = 79,
};

bool trace_packet_take(TracePacket *packet, const WireField *field) {
        switch (field->number) {
        case PACKET_TIMESTAMP:
                packet->timestamp = field->value;
                packet->has_timestamp = true;
                return true;
        case PACKET_TIMESTAMP_CLOCK:
                packet->clock = (uint32_t)field->value;
                return true;
        case PACKET_TRUSTED_UID:
                packet->uid = (int32_t)field->value;
                return true;
        case PACKET_TRUSTED_PID:
                packet->pid = (int32_t)field->value;
                return true;
        case PACKET_SEQUENCE_ID:
                packet->sequence_id = (uint32_t)field->value;
                return true;
        case PACKET_SEQUENCE_FLAGS:
                trace_packet_take_flags(packet, field->value);
                return true;
        case PACKET_CLEARED:
                packet->is_cleared |= field->value != 0;
                return true;
        case PACKET_PREVIOUS_DROPPED:
                packet->loss = field->value;
                return true;
        case PACKET_INTERNED_DATA:
                packet->interned = *field;
                return true;
        case PACKET_DEFAULTS:
                packet->defaults = *field;
                return true;
        default:
                return false;
        }
}

uint64_t trace_read_numbers(const WireField *message, uint64_t *ret, size_t n_ret) {
        uint64_t found = 0;
        WireReader reader;
        WireField field;

        memset(ret, 0, n_ret * sizeof(*ret));
        wire_reader_init_field(&reader, message);
        while (wire_read_fast(&reader, &field) > 0)
                if (field.type != WIRE_BYTES && field.number < n_ret && field.number < 64) {
                        ret[field.number] = field.value;
                        found |= UINT64_C(1) << field.number;
                }
        return found;
}
