/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Fragment: what a chunk's payload is made of
 *
 * A size, as a varint, and so many bytes: a packet, or a piece of one. The bytes are a producer's,
 * so each size is checked against what is there; but they must lie in private memory, where they
 * cannot change under the check.
 */

#include <stddef.h>
#include <stdint.h>

#include "smb/smb.h"

typedef struct Fragment {
        const uint8_t *data;
        size_t n_bytes;
        size_t n_outer; /* with its size in front */
} Fragment;

enum {
        _FRAGMENT_E_SUCCESS,
        FRAGMENT_E_CORRUPT, /* no number, or a size that does not fit */
        FRAGMENT_E_ABORTED, /* the writer gave up on this packet */
};

/* The fragment at the front of `n_left` bytes, which are not 0. */
int fragment_parse(const uint8_t *at, size_t n_left, Fragment *ret);
