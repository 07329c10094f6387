/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Fragment: reads one fragment of a chunk, whose sizes cannot be trusted */

#include "buffer/fragment.h"
#include "wire/wire-reader.h"

int fragment_parse_size(const uint8_t *at,
                        size_t n_left,
                        uint64_t *ret_n_bytes,
                        size_t *ret_n_size) {
        WireReader reader;

        wire_reader_init(&reader, at, n_left);
        if (wire_read_varint(&reader, ret_n_bytes) < 0)
                return FRAGMENT_E_CORRUPT;
        *ret_n_size = (size_t)(reader.at - at);
        return *ret_n_bytes == SMB_PACKET_DROPPED ? FRAGMENT_E_ABORTED : 0;
}
