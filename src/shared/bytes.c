/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "shared/bytes.h"

#define BYTES_FIRST 256

void bytes_deinit(Bytes *bytes) {
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

        n_allocated = MAX(bytes->n_allocated, (size_t)BYTES_FIRST);
        while (n_allocated < n_needed)
                if (__builtin_mul_overflow(n_allocated, 2, &n_allocated))
                        return -ENOMEM;

        data = realloc(bytes->data, n_allocated);
        if (!data)
                return -ENOMEM;
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
