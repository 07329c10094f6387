/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf ring: one processor's records, which the kernel writes and the probes read in place */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probes/perf/perf-records.h"
#include "probes/perf/perf-ring.h"
#include "shared/fd.h"
#include "shared/macro.h"

static size_t page_bytes(void) {
        return (size_t)sysconf(_SC_PAGESIZE);
}

void perf_ring_init(PerfRing *ring) {
        *ring = (PerfRing){ .fd = -1 };
}

int perf_ring_map(PerfRing *ring, int fd, uint32_t cpu, size_t n_bytes) {
        void *pages;

        ring->fd = fd;
        ring->cpu = cpu;
        ring->joined = malloc(PERF_RECORD_BYTES_MAX);
        if (!ring->joined)
                return -ENOMEM;
        pages = mmap(NULL, page_bytes() + n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (pages == MAP_FAILED)
                return -errno;
        ring->pages = pages;
        ring->data = (const uint8_t *)pages + page_bytes();
        ring->n_bytes = n_bytes;
        return 0;
}

void perf_ring_deinit(PerfRing *ring) {
        if (ring->pages)
                munmap(ring->pages, page_bytes() + ring->n_bytes);
        ring->fd = fd_close(ring->fd);
        free(ring->joined);
        perf_ring_init(ring);
}

static const uint8_t *data_at(const PerfRing *ring, uint64_t position) {
        return ring->data + (position & (ring->n_bytes - 1));
}

/* Puts a record together that wraps around the ring's end. */
static const uint8_t *whole_record(PerfRing *ring, size_t n_bytes) {
        const size_t n_first = ring->n_bytes - (size_t)(ring->tail & (ring->n_bytes - 1));

        if (n_bytes <= n_first)
                return data_at(ring, ring->tail);
        memcpy(ring->joined, data_at(ring, ring->tail), n_first);
        memcpy(ring->joined + n_first, data_at(ring, 0), n_bytes - n_first);
        return ring->joined;
}

/* Records begin at multiples of eight, so a header never wraps. */
static void look(PerfRing *ring) {
        struct perf_event_header header;

        ring->n_record = 0;
        if (ring->head - ring->tail < sizeof(header))
                return;
        memcpy(&header, data_at(ring, ring->tail), sizeof(header));
        if (header.size < sizeof(header) || header.size > ring->head - ring->tail) {
                ring->tail =
                        ring->head; /* no kernel writes this: nothing in the ring can be trusted */
                return;
        }
        ring->record = whole_record(ring, header.size);
        ring->n_record = header.size;
        ring->record_ns = perf_record_time_ns(ring->record, ring->n_record);
}

void perf_ring_begin(PerfRing *ring) {
        const struct perf_event_mmap_page *control = ring->pages;

        ring->n_record = 0;
        if (!control)
                return;
        /* Pairs with the kernel's barrier between a record and the head. */
        ring->head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
        look(ring);
}

void perf_ring_next(PerfRing *ring) {
        ring->tail += ring->n_record;
        look(ring);
}

void perf_ring_end(PerfRing *ring) {
        struct perf_event_mmap_page *control = ring->pages;

        /* Pairs with the kernel's load of the tail: everything that it overwrites from here on has been read. */
        if (control)
                __atomic_store_n(&control->data_tail, ring->tail, __ATOMIC_RELEASE);
}

static size_t copy_start(uint8_t *ret, const PerfRing *ring, uint64_t at, size_t n_bytes) {
        const size_t n_first = MIN(n_bytes, ring->n_bytes - (size_t)(at & (ring->n_bytes - 1)));

        memcpy(ret, data_at(ring, at), n_first);
        memcpy(ret + n_first, data_at(ring, 0), n_bytes - n_first);
        return n_bytes;
}

bool perf_ring_has(const PerfRing *ring, PerfRingTest *test, const void *userdata) {
        const struct perf_event_mmap_page *control = ring->pages;
        uint8_t start[PERF_RING_START_BYTES];
        struct perf_event_header header;
        uint64_t at = ring->tail, head;

        if (!control)
                return false;
        /* As in perf_ring_begin(). */
        head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
        while (head - at >= sizeof(header)) {
                memcpy(&header, data_at(ring, at), sizeof(header));
                if (header.size < sizeof(header) || header.size > head - at)
                        return true; /* no kernel writes this: nothing is certain */
                if (test(start,
                         copy_start(start, ring, at, MIN(header.size, sizeof(start))),
                         userdata))
                        return true;
                at += header.size;
        }
        return false;
}

unsigned perf_ring_fill(const PerfRing *ring) {
        const struct perf_event_mmap_page *control = ring->pages;

        if (!control)
                return 0;
        return (unsigned)((__atomic_load_n(&control->data_head, __ATOMIC_RELAXED) - ring->tail) *
                          100 / ring->n_bytes);
}
