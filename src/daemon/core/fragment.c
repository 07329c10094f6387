/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "core/fragment.h"
#include "shared/macro.h"
#include "wire/wire-reader.h"

int fragment_parse(const uint8_t *at, size_t n_left, Fragment *ret) {
        uint64_t n_bytes = *at;
        size_t n_size = 1;

        if (n_bytes & 0x80) {
                WireReader reader;

                wire_reader_init(&reader, at, n_left);
                if (wire_read_varint(&reader, &n_bytes) < 0)
                        return FRAGMENT_E_CORRUPT;
                n_size = (size_t)(reader.at - at);
                if (UNLIKELY(n_bytes == SMB_PACKET_DROPPED))
                        return FRAGMENT_E_ABORTED;
        }
        if (n_bytes > n_left - n_size)
                return FRAGMENT_E_CORRUPT;

        ret->data = at + n_size;
        ret->n_bytes = (size_t)n_bytes;
        ret->n_outer = n_size + (size_t)n_bytes;
        return 0;
}
