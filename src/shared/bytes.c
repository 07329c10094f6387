/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bytes: a growable byte array */

#include <errno.h>
#include <stdbool.h>

#include "shared/bytes.h"

#define BYTES_FIRST 256

/* Sizes that are allocated here are never odd. */
static bool bytes_are_lent(const Bytes *bytes) {
        return bytes->n_allocated % 2;
}

void bytes_deinit(Bytes *bytes) {
        if (!bytes_are_lent(bytes))
                free(bytes->data);
        *bytes = (Bytes){};
}

int bytes_reserve(Bytes *bytes, size_t n_more) {
        size_t n_needed, n_allocated;
        uint8_t *data;

        if (__builtin_add_overflow(bytes->n, n_more, &n_needed))
                return -ENOMEM;
        if (n_needed <= bytes->n_allocated)
                return 0;

        n_allocated = MAX(bytes->n_allocated + bytes_are_lent(bytes), (size_t)BYTES_FIRST);
        while (n_allocated < n_needed)
                if (__builtin_mul_overflow(n_allocated, 2, &n_allocated))
                        return -ENOMEM;

        data = realloc(bytes_are_lent(bytes) ? NULL : bytes->data, n_allocated);
        if (!data)
                return -ENOMEM;
        if (bytes_are_lent(bytes))
                memcpy(data, bytes->data, bytes->n);
        bytes->data = data;
        bytes->n_allocated = n_allocated;
        return 0;
}

int bytes_append(Bytes *bytes, const void *data, size_t n) {
        int r;

        r = bytes_reserve(bytes, n);
        if (r < 0)
                return r;
        if (n > 0)
                memcpy(bytes->data + bytes->n, data, n);
        bytes->n += n;
        return 0;
}
