/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Fragment: one of the pieces in a chunk's payload
 *
 * A fragment is a size, as a varint, and that number of bytes: a packet, or a part of one. The bytes come from a
 * producer, so each size is checked against the bytes that are there. They must lie in private memory, where they
 * cannot change during the check.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"
#include "smb/smb.h"

typedef struct Fragment {
        const uint8_t *data;
        size_t n_bytes;
        size_t n_outer; /* including the size in front */
} Fragment;

enum {
        _FRAGMENT_E_SUCCESS,
        FRAGMENT_E_CORRUPT, /* not a number, or a size that does not fit */
        FRAGMENT_E_ABORTED, /* the writer gave up on this packet */
};

/* Parses any size that fragment_parse() does not handle inline. */
int fragment_parse_size(const uint8_t *at,
                        size_t n_left,
                        uint64_t *ret_n_bytes,
                        size_t *ret_n_size);

/* Perfetto's library writes four bytes, however small the size is, because it only knows sizes afterwards. */
static inline bool fragment_has_padded_size(const uint8_t *at, size_t n_left) {
        return n_left >= 4 && (at[0] & at[1] & at[2] & 0x80) != 0 && (at[3] & 0x80) == 0;
}

static inline uint64_t fragment_padded_size(const uint8_t *at) {
        return (at[0] & 0x7fu) | (at[1] & 0x7fu) << 7 | (at[2] & 0x7fu) << 14 |
               (uint32_t)at[3] << 21;
}

/* Parses the fragment at the front of `n_left` bytes, which is not 0. Sizes of one and two bytes, which most
 * fragments have, and Perfetto's are handled inline, as every packet is parsed here twice. */
static inline int fragment_parse(const uint8_t *at, size_t n_left, Fragment *ret) {
        uint64_t n_bytes = at[0];
        size_t n_size = 1;
        int r;

        if (n_bytes >= 0x80) {
                if (LIKELY(n_left > 1 && at[1] < 0x80)) {
                        n_bytes = (n_bytes & 0x7f) | (uint64_t)at[1] << 7;
                        n_size = 2;
                } else if (LIKELY(fragment_has_padded_size(at, n_left))) {
                        n_bytes = fragment_padded_size(at);
                        n_size = 4;
                        if (n_bytes == SMB_PACKET_DROPPED)
                                return FRAGMENT_E_ABORTED;
                } else {
                        r = fragment_parse_size(at, n_left, &n_bytes, &n_size);
                        if (r != 0)
                                return r;
                }
        }
        if (UNLIKELY(n_bytes > n_left - n_size))
                return FRAGMENT_E_CORRUPT;

        ret->data = at + n_size;
        ret->n_bytes = (size_t)n_bytes;
        ret->n_outer = n_size + (size_t)n_bytes;
        return 0;
}
