/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace reader: a trace file, one packet at a time
 *
 * A trace file is a sequence of perfetto.protos.Trace.packet fields: the byte 0x0a, a length as a varint, and that
 * number of bytes. The reader takes them in order from any descriptor (file, pipe) with read(2), so it notices by an
 * outcome, and not by a signal, that somebody cuts the file short meanwhile. Its memory grows with the largest packet
 * that is really there, not with what a length claims. Packets that were compressed together come one by one, as if
 * they had never been compressed.
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
        size_t at;       /* where the next packet begins in the buffer */
        uint64_t offset; /* where buffer.data[0] is in the file */
        size_t n_frame;  /* the frame of the packet that was taken last */
        Bytes unpacked;  /* the packets in it, if it was compressed */
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

/* Sets *ret to the next packet's bytes, which are valid until the next call. Returns 0, an outcome, or an errno. */
int trace_reader_next(TraceReader *reader, const uint8_t **ret, size_t *ret_n);

/* Where the next packet, or the fault, begins in the file. For packets that were compressed together it is where all
 * of them end. */
uint64_t trace_reader_offset(const TraceReader *reader);
