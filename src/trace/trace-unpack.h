/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace unpack: the packets in a compressed packet
 *
 * Writers of traces put many packets into one with zstd or deflate: TracePacket.zstd_compressed_packets or
 * compressed_packets. Once decompressed, the payload is again a trace. The bytes are untrusted.
 */

#include <stdbool.h>

#include "shared/bytes.h"
#include "wire/wire-writer.h" /* the wire types */

/* The largest size to which one packet may be decompressed. Anything larger is an attack, or corrupt. */
#define TRACE_UNPACKED_BYTES_MAX (UINT64_C(1) << 28)

/* Fields of perfetto.protos.TracePacket. */
enum { TRACE_COMPRESSED_PACKETS = 50, TRACE_ZSTD_COMPRESSED_PACKETS = 133 };

enum {
        _TRACE_UNPACK_E_SUCCESS,
        TRACE_UNPACK_E_PLAIN,   /* it is an ordinary packet */
        TRACE_UNPACK_E_CORRUPT, /* or more than TRACE_UNPACKED_BYTES_MAX */
};

/* Whether it certainly is not compressed. Most packets are plain, and the first byte of their first tag already
 * shows that. */
static inline bool trace_unpack_is_plain(const uint8_t *packet, size_t n) {
        return n == 0 ||
               (packet[0] != (uint8_t)(TRACE_COMPRESSED_PACKETS << 3 | WIRE_BYTES | 0x80) &&
                packet[0] != (uint8_t)(TRACE_ZSTD_COMPRESSED_PACKETS << 3 | WIRE_BYTES | 0x80));
}

/* Replaces the contents of *out, unless the result is TRACE_UNPACK_E_PLAIN. Returns 0, an outcome, or -ENOMEM. */
int trace_unpack(Bytes *out, const uint8_t *packet, size_t n);
