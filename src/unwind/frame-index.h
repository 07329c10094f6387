/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Frame index: .eh_frame_hdr, which finds a function's entry by its address
 *
 * The linker writes a sorted table with 8 bytes for each function, always in the same encoding. If the order is wrong,
 * lookups fail and nothing worse happens: each entry itself has the range of its function.
 */

#include <stddef.h>
#include <stdint.h>

#define FRAME_INDEX_ROW_BYTES 8u

enum {
        _FRAME_INDEX_E_SUCCESS,
        FRAME_INDEX_E_BAD, /* not an index, or not in the usual encoding */
};

typedef struct FrameIndex {
        const uint8_t *rows; /* a function's address and its entry's, both from `address` */
        size_t n_rows;
        uint64_t address; /* of .eh_frame_hdr */
        uint64_t section; /* the address of .eh_frame */
} FrameIndex;

/* The bytes must live as long as the index. Returns 0 or FRAME_INDEX_E_BAD. */
int frame_index_init(FrameIndex *ret, const uint8_t *bytes, size_t n_bytes, uint64_t address);

/* The offset in .eh_frame of the entry for an address, if any function has it; UINT64_MAX: it is before them all. */
uint64_t frame_index_find(const FrameIndex *index, uint64_t address);

/* Where in .eh_frame the last entry begins. */
uint64_t frame_index_last(const FrameIndex *index);
