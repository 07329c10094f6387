/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Packet writer: encodes packets and hands them on
 *
 * A PacketSink takes finished packets (bytes of perfetto.protos.TracePacket): in the daemon it is a data source's
 * writer, in tests an array. A PacketWriter is reusable memory in which packets are encoded one at a time; it grows to
 * the size of the largest packet and stays there. The probe owns both; only one thread uses them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/bytes.h"
#include "wire/wire-writer.h"

/* Fields of TracePacket that probes write. */
enum {
        PACKET_FTRACE_EVENTS = 1,
        PACKET_PROCESS_TREE = 2,
        PACKET_SYS_STATS = 7,
        PACKET_TIMESTAMP = 8,
        PACKET_PROCESS_STATS = 9,
        PACKET_TRACK_EVENT = 11,
        PACKET_INTERNED_DATA = 12,
        PACKET_SEQUENCE_FLAGS = 13,
        PACKET_FTRACE_STATS = 34,
        PACKET_BATTERY = 38,
        PACKET_POWER_RAILS = 40,
        PACKET_INCREMENTAL_STATE_CLEARED = 41,
        PACKET_PROCESS_DESCRIPTOR = 43,
        PACKET_TIMESTAMP_CLOCK_ID = 58,
        PACKET_DEFAULTS = 59,
        PACKET_TRACK_DESCRIPTOR = 60,
        PACKET_PERF_SAMPLE = 66,
        PACKET_CPU_INFO = 67,
        PACKET_GPU_MEM_TOTAL = 71,
        PACKET_GPU_INFO = 128,
        PACKET_STACK_SAMPLE = 135,
        PACKET_GPU_FREQUENCY = 129,
        PACKET_INTERRUPT_INFO = 130,
        PACKET_JOURNALD_EVENT = 132,
};

enum {
        PACKET_STATE_CLEARED = 1, /* sequence_flags: what was interned before is forgotten */
        PACKET_NEEDS_STATE = 2,   /* sequence_flags: refers to what was interned before */
};

typedef struct PacketSink PacketSink;

struct PacketSink {
        /* Returns 0, -ENOBUFS if the packet was dropped, or -ESHUTDOWN if the recording has ended. */
        int (*write)(PacketSink *sink, const void *packet, size_t n_bytes);
};

typedef struct PacketWriter {
        PacketSink *sink;
        Bytes memory;
        WireWriter wire;
        uint64_t n_packets; /* packets that the sink took */
        uint64_t n_dropped; /* packets that the sink refused, or that did not fit into memory */
} PacketWriter;

#define PACKET_BYTES_MAX (4u << 20) /* a packet that would be larger is dropped and counted */

void packet_writer_init(PacketWriter *writer, PacketSink *sink);
void packet_writer_deinit(PacketWriter *writer);

/* Starts an empty packet; encode into the result. */
WireWriter *packet_begin(PacketWriter *writer);
/* Gives the packet to the sink. Returns what PacketSink.write() returned, or -ENOMEM. */
int packet_end(PacketWriter *writer);
