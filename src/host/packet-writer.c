/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packet writer: encodes packets and hands them on */

#include <errno.h>

#include "host/packet-writer.h"

#define PACKET_BYTES_FIRST (64u << 10)

static int grow(WireWriter *wire, size_t n_more) {
        PacketWriter *writer = wire->userdata;
        size_t n_used = wire_writer_size(wire);
        int r;

        if (n_more > PACKET_BYTES_MAX - n_used)
                return -EFBIG;
        writer->memory.n = n_used;
        r = bytes_reserve(&writer->memory, n_more);
        if (r < 0)
                return r;
        wire->start = writer->memory.data;
        wire->at = wire->start + n_used;
        wire->end = wire->start + writer->memory.n_allocated;
        return 0;
}

void packet_writer_init(PacketWriter *writer, PacketSink *sink) {
        *writer = (PacketWriter){ .sink = sink };
        /* Reserve early: growing from a few bytes would copy the first large packet many times. If there is no
         * memory now, the first packet tries again and fails then. */
        (void)bytes_reserve(&writer->memory, PACKET_BYTES_FIRST);
}

void packet_writer_deinit(PacketWriter *writer) {
        bytes_deinit(&writer->memory);
}

WireWriter *packet_begin(PacketWriter *writer) {
        wire_writer_init(&writer->wire, writer->memory.data, writer->memory.n_allocated);
        writer->wire.grow = grow;
        writer->wire.userdata = writer;
        return &writer->wire;
}

int packet_end(PacketWriter *writer) {
        int r = -ENOMEM;

        if (!wire_writer_failed(&writer->wire))
                r = writer->sink->write(
                        writer->sink, writer->wire.start, wire_writer_size(&writer->wire));
        if (r < 0)
                writer->n_dropped++;
        else
                writer->n_packets++;
        return r;
}
