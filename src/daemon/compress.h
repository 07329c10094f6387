/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Compressor: packets in, one packet that holds them compressed out
 *
 * The input is complete packets in trace file framing. The output is one TracePacket with only zstd_compressed_packets
 * or compressed_packets in it, whose decompressed payload is the input. Each of these packets can be read without the
 * others. The memory used is that of the codec for an input of this size, whatever the level.
 *
 * Belongs to one thread at a time.
 */

#include "core/model/compression.h"
#include "shared/bytes.h"
#include "shared/macro.h"

typedef struct Compressor Compressor;

/* `compression` names a codec. Returns 0 or -ENOMEM. */
int compressor_new(Compressor **ret, const Compression *compression);
Compressor *compressor_free(Compressor *compressor);
DEFINE_CLEANUP(Compressor *, compressor_free)

/* Appends the framed packet. Returns 0, -ENOMEM, or -EIO if the codec fails, which it never should. */
int compressor_put(Compressor *compressor, const void *data, size_t n, Bytes *out);
