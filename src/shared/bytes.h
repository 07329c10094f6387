/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Bytes: a growable byte array
 *
 * Zero-initialised is empty and valid. Growth doubles; nothing shrinks but bytes_clear(), which
 * keeps the memory for the next use. An odd n_allocated: the memory is lent, and is neither moved nor freed.
 */

#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

typedef struct Bytes {
        uint8_t *data;
        size_t n;
        size_t n_allocated;
} Bytes;

void bytes_deinit(Bytes *bytes);

static inline void bytes_clear(Bytes *bytes) {
        bytes->n = 0;
}

/* Makes room for `n_more` bytes after the end; 0 or -ENOMEM. */
int bytes_reserve(Bytes *bytes, size_t n_more);
int bytes_append(Bytes *bytes, const void *data, size_t n);
