/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Unpacks .gnu_debugdata, a section compressed with xz */

#include <lzma.h>
#include <stdlib.h>

#include "symbols/symbol-file.h"

#define MEMORY_MAX (UINT64_C(256) << 20) /* limit for unpacking itself */
#define PIECE      (1u << 20)

void *symbol_unpack(const void *packed, size_t n_packed, size_t *ret_n) {
        lzma_stream stream = LZMA_STREAM_INIT;
        uint8_t *unpacked = NULL, *more;
        size_t n_allocated = 0;
        lzma_ret r;

        if (lzma_stream_decoder(&stream, MEMORY_MAX, 0) != LZMA_OK)
                return NULL;
        stream.next_in = packed;
        stream.avail_in = n_packed;
        do {
                if (stream.avail_out == 0) {
                        more = n_allocated < SYMBOL_UNPACKED_MAX
                                       ? realloc(unpacked, n_allocated + PIECE)
                                       : NULL;
                        if (!more) {
                                r = LZMA_MEM_ERROR;
                                break;
                        }
                        unpacked = more;
                        stream.next_out = unpacked + n_allocated;
                        stream.avail_out = PIECE;
                        n_allocated += PIECE;
                }
                r = lzma_code(&stream, LZMA_FINISH);
        } while (r == LZMA_OK);
        *ret_n = n_allocated - stream.avail_out;
        lzma_end(&stream);
        if (r == LZMA_STREAM_END)
                return unpacked;
        free(unpacked);
        return NULL;
}
