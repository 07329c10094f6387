/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Capture ring: shared memory into which one thread of a program writes frames */

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "bridges/sysprof/capture-ring.h"
#include "shared/fd.h"

#define RING_MAP_BYTES (CAPTURE_RING_PAGE + CAPTURE_RING_BYTES)

/* The first page. */
typedef struct RingHeader {
        _Atomic uint32_t head; /* ours: up to where it was read */
        _Atomic uint32_t tail; /* the program's: up to where it has written */
        uint32_t offset;       /* of the frames */
        uint32_t n_bytes;      /* of them */
} RingHeader;

static RingHeader *ring_header(const CaptureRing *ring) {
        return (RingHeader *)ring->memory;
}

int capture_ring_new(CaptureRing *ret, int *ret_fd) {
        _cleanup_(fd_closep) int fd = -1;
        void *memory;
        int r;

        r = fd_new_sealed_memfd(&fd, "desktrace-sysprof", RING_MAP_BYTES);
        if (r < 0)
                return r;
        memory = mmap(NULL, RING_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED)
                return -errno;
        *ret = (CaptureRing){ .memory = memory };
        ring_header(ret)->offset = CAPTURE_RING_PAGE;
        ring_header(ret)->n_bytes = CAPTURE_RING_BYTES;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

void capture_ring_deinit(CaptureRing *ring) {
        if (ring->memory)
                munmap(ring->memory, RING_MAP_BYTES);
        *ring = (CaptureRing){};
}

size_t
capture_ring_take(CaptureRing *ring, uint8_t copy[static CAPTURE_RING_BYTES], uint64_t *n_losses) {
        const uint32_t tail = atomic_load(&ring_header(ring)->tail);
        const uint8_t *frames = ring->memory + CAPTURE_RING_PAGE;
        size_t n = 0;

        if (tail >= CAPTURE_RING_BYTES || tail % 8 != 0) {
                (*n_losses)++; /* the next position may be valid again; reading resumes there */
                return 0;
        }
        if (tail < ring->head) {
                n = CAPTURE_RING_BYTES - ring->head;
                memcpy(copy, frames + ring->head, n);
                ring->head = 0;
        }
        memcpy(copy + n, frames + ring->head, tail - ring->head);
        n += tail - ring->head;
        ring->head = tail;
        atomic_store(&ring_header(ring)->head, tail);
        return n;
}
