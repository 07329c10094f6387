/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Dump: what a session has counted, as packets
 *
 * Each dump is one or more perfetto.protos.ProfilePacket, with numbers that count up from the start; values are
 * sums since the start, of the sites that have changed since the dump before. Stacks, frames and files are told
 * once, until the sequence starts over. Our own fields, from 1900 on, are what Perfetto's has none for: what each
 * site had at the peak, what lived only shortly, and that a dump was made when the program ended.
 */

#include "heap/profile.h"
#include "heap/settings.h"
#include "wire/wire-writer.h"

/* Where packets go. */
typedef struct DumpSink DumpSink;

struct DumpSink {
        /* Whether the sequence starts over with the next packet. */
        bool (*begins)(DumpSink *sink);
        void (*write)(DumpSink *sink, const void *packet, size_t n_bytes);
};

typedef struct Dump {
        DumpSink *sink;
        ProfileCopy copy;
        uint8_t *told_frames, *told_sites, *told_modules; /* a bit each */
        uint8_t *interned_bytes, *samples_bytes, *packet_bytes;
        uint64_t n_dumps;
        uint64_t n_packets;         /* the next one's index */
        const HeapProcess *process; /* of the owner */
        uint64_t process_track;
        bool from_startup;
        bool at_exit;   /* the program ends, so there is none behind it */
        bool tells_all; /* next time, also what has not changed */
} Dump;

typedef struct DumpTimes {
        uint64_t now_ns;       /* CLOCK_BOOTTIME, of the packet */
        uint64_t monotonic_ns; /* CLOCK_MONOTONIC_COARSE, of the counts */
        uint64_t start_monotonic_ns;
} DumpTimes;

/* 0 or -ENOMEM. */
int dump_init(Dump *dump, DumpSink *sink, const HeapProcess *process);
void dump_deinit(Dump *dump);

/* Writes one. 0 or -ENOMEM. */
int dump_write(Dump *dump, unsigned session, const HeapSettings *settings, const DumpTimes *times);
