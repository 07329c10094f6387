/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace reader: a trace file, one packet at a time
 *
 * A trace file is a sequence of perfetto.protos.Trace.packet fields: the byte 0x0a, a varint
 * length, and that number of bytes. The reader takes them from any descriptor (file, pipe) with read(2),
 * in order, so a file that is cut short under it is an outcome and not a signal. Its memory grows
 * with the largest packet that is really there, not with what a length claims. Packets that were
 * compressed together come one by one, as if they had never been.
 */

#include <stddef.h>
#include <stdint.h>

#include "shared/bytes.h"
#include "shared/macro.h"

/* The service refuses larger packets, too. */
#define TRACE_PACKET_BYTES_MAX (UINT64_C(1) << 28)

typedef struct TraceReader {
        int fd; /* not owned */
        Bytes buffer;
        size_t at;       /* of the next packet, in the buffer */
        uint64_t offset; /* of buffer.data[0], in the file */
        size_t n_frame;  /* of the packet that was taken from the buffer last */
        Bytes unpacked;  /* what was in it, if it was compressed */
        size_t unpacked_at;
} TraceReader;

enum {
        _TRACE_READER_E_SUCCESS,
        TRACE_READER_E_END,       /* the file ends behind the last packet */
        TRACE_READER_E_TRUNCATED, /* the file ends inside a packet */
        TRACE_READER_E_GARBAGE,   /* the next bytes are not a packet, or cannot be decompressed */
};

static inline void trace_reader_init(TraceReader *reader, int fd) {
        *reader = (TraceReader){ .fd = fd };
}

void trace_reader_deinit(TraceReader *reader);

/* The next packet's bytes, valid until the next call. 0, an outcome, or an errno. */
int trace_reader_next(TraceReader *reader, const uint8_t **ret, size_t *ret_n);

/* Where in the file the next packet begins, or the trouble; of compressed ones, where all of them end. */
uint64_t trace_reader_offset(const TraceReader *reader);
