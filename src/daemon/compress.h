/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Compressor: packets in, one packet that holds them compressed out
 *
 * What is given is whole packets in trace file framing; what comes out is one TracePacket with nothing but
 * zstd_compressed_packets or compressed_packets in it, whose decompressed payload is what was given. Each of these
 * can be read without the others. Memory is that of the codec for so much input, whatever the level.
 *
 * Belongs to one thread at a time.
 */

#include "core/model/compression.h"
#include "shared/bytes.h"
#include "shared/macro.h"

typedef struct Compressor Compressor;

/* `compression` names a codec. 0 or -ENOMEM. */
int compressor_new(Compressor **ret, const Compression *compression);
Compressor *compressor_free(Compressor *compressor);
DEFINE_CLEANUP(Compressor *, compressor_free)

/* Appends the framed packet. 0, -ENOMEM, or -EIO when the codec fails, which it never should. */
int compressor_put(Compressor *compressor, const void *data, size_t n, Bytes *out);
