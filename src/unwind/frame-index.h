/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Frame index: .eh_frame_hdr, which finds a function's entry by its address
 *
 * The linker makes a sorted table of 8 bytes a function, in one encoding that all of them use. Where it lies about the
 * order, entries are not found, and nothing else happens: each entry says itself which addresses it is for.
 */

#include <stddef.h>
#include <stdint.h>

enum {
        _FRAME_INDEX_E_SUCCESS,
        FRAME_INDEX_E_BAD, /* not an index, or in an encoding that no linker writes */
};

typedef struct FrameIndex {
        const uint8_t *rows; /* a function's address and its entry's, both from `address` */
        size_t n_rows;
        uint64_t address; /* of .eh_frame_hdr */
        uint64_t section; /* the address of .eh_frame */
} FrameIndex;

/* The bytes must live as long as the index. 0 or FRAME_INDEX_E_BAD. */
int frame_index_init(FrameIndex *ret, const uint8_t *bytes, size_t n_bytes, uint64_t address);

/* Where in .eh_frame the entry for an address begins, if it is in a function at all; UINT64_MAX: before all functions.
 * */
uint64_t frame_index_find(const FrameIndex *index, uint64_t address);

/* Where in .eh_frame the last entry begins. */
uint64_t frame_index_last(const FrameIndex *index);
