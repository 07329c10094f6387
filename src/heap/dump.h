/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Dump: what a session has counted, as packets
 *
 * Each dump is one or more perfetto.protos.ProfilePacket messages, numbered from the start. Values are totals since the
 * start, for the sites that have changed since the previous dump. Stacks, frames and files are written once, until the
 * sequence starts over. Our own fields, from 1900 on, have what Perfetto's message cannot express: each site's values
 * at the peak, short-lived allocations, and that the program was ending when the dump was made.
 */

#include "heap/profile.h"
#include "heap/settings.h"
#include "wire/wire-writer.h"

/* Where packets go. */
typedef struct DumpSink DumpSink;

struct DumpSink {
        /* Returns whether the next packet starts the sequence over. */
        bool (*begins)(DumpSink *sink);
        void (*write)(DumpSink *sink, const void *packet, size_t n_bytes);
};

typedef struct Dump {
        DumpSink *sink;
        ProfileCopy copy;
        uint8_t *told_frames, *told_sites, *told_modules; /* one bit for each */
        uint8_t *interned_bytes, *samples_bytes, *packet_bytes;
        uint64_t n_dumps;
        uint64_t n_packets;         /* the index of the next packet */
        const HeapProcess *process; /* of the owner */
        uint64_t process_track;
        bool from_startup;
        bool at_exit;   /* the program is ending, so this is the last dump */
        bool tells_all; /* the next dump also lists sites that have not changed */
} Dump;

typedef struct DumpTimes {
        uint64_t now_ns;       /* the packet's time, by CLOCK_BOOTTIME */
        uint64_t monotonic_ns; /* when the counts were taken, by CLOCK_MONOTONIC_COARSE */
        uint64_t start_monotonic_ns;
} DumpTimes;

/* Returns 0 or -ENOMEM. */
int dump_init(Dump *dump, DumpSink *sink, const HeapProcess *process);
void dump_deinit(Dump *dump);

/* Writes one dump. Returns 0 or -ENOMEM. */
int dump_write(Dump *dump, unsigned session, const HeapSettings *settings, const DumpTimes *times);
