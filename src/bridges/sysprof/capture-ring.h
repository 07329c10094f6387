/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Capture ring: shared memory into which one thread of a program writes frames
 *
 * The layout is that of sysprof's mapped ring buffer: a page with two positions, and behind it the frames. The program
 * may write anything anywhere at any time, so positions are checked each time, and frames are looked at in a copy.
 */

#include <stddef.h>
#include <stdint.h>

#define CAPTURE_RING_PAGE  4096
#define CAPTURE_RING_BYTES (256u << 10) /* bytes of frames; a full ring holds its program up */

typedef struct CaptureRing {
        uint8_t *memory;
        uint32_t head; /* up to where it was read */
} CaptureRing;

/* *ret_fd is for the program: a memfd that nobody can shrink. Returns 0 or a negative errno. */
int capture_ring_new(CaptureRing *ret, int *ret_fd);
void capture_ring_deinit(CaptureRing *ring);

/* Copies what was written since the last call, and makes room. Returns the number of bytes; if the program's position
 * is nonsense, that is 0, and *n_losses grows by one. */
size_t
capture_ring_take(CaptureRing *ring, uint8_t copy[static CAPTURE_RING_BYTES], uint64_t *n_losses);
