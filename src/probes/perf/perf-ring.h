/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf ring: one processor's records, which the kernel writes and the probes read in place
 *
 * The kernel's head is read once for each drain, so a drain has an end. No record is kept: moving the tail gives the
 * memory back to the kernel.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PerfRing {
        int fd; /* -1: none */
        uint32_t cpu;
        void *pages; /* the control page and the data; NULL: not mapped */
        const uint8_t *data;
        size_t n_bytes; /* of data: a power of two */
        uint64_t head;  /* where this drain ends */
        uint64_t tail;
        uint8_t *joined; /* room for a record that wraps */
        /* The record at the tail; n_record is 0 if the ring is empty. */
        const uint8_t *record;
        size_t n_record;
        uint64_t record_ns;
} PerfRing;

void perf_ring_init(PerfRing *ring);
/* Maps the ring of an event; takes the descriptor. Returns 0 or a negative errno. */
int perf_ring_map(PerfRing *ring, int fd, uint32_t cpu, size_t n_bytes);
void perf_ring_deinit(PerfRing *ring);

/* Reads the kernel's position, and the first record. */
void perf_ring_begin(PerfRing *ring);
/* Goes on to the next record. */
void perf_ring_next(PerfRing *ring);
/* Gives the memory of records that were read back to the kernel. */
void perf_ring_end(PerfRing *ring);

/* Whether `is` returns true for any record from the tail up to the kernel's present position. `start` is the record's
 * beginning: its first PERF_RING_START_BYTES, or all of it. */
#define PERF_RING_START_BYTES 24u
typedef bool PerfRingTest(const uint8_t *start, size_t n_bytes, const void *userdata);
bool perf_ring_has(const PerfRing *ring, PerfRingTest *test, const void *userdata);

/* How full it is, in percent. */
unsigned perf_ring_fill(const PerfRing *ring);
