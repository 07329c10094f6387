/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace reader: a trace file, one packet at a time */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "trace/trace-reader.h"
#include "trace/trace-unpack.h"
#include "wire/wire-reader.h"

#define PACKET_TAG     0x0a /* field 1, length-delimited */
#define READ_BYTES_MIN (256u << 10)

void trace_reader_deinit(TraceReader *reader) {
        bytes_deinit(&reader->buffer);
        bytes_deinit(&reader->unpacked);
}

uint64_t trace_reader_offset(const TraceReader *reader) {
        return reader->offset + reader->at;
}

static size_t trace_reader_n_ahead(const TraceReader *reader) {
        return reader->buffer.n - reader->at;
}

/* Moves the bytes that have not been used yet to the front. */
static void trace_reader_shift(TraceReader *reader) {
        size_t n_ahead = trace_reader_n_ahead(reader);

        if (reader->at == 0)
                return;
        if (n_ahead)
                memmove(reader->buffer.data, reader->buffer.data + reader->at, n_ahead);
        reader->offset += reader->at;
        reader->buffer.n = n_ahead;
        reader->at = 0;
}

/* Reads more. Returns 0, an errno, or TRACE_READER_E_END at the end of the file. */
static int trace_reader_fill(TraceReader *reader) {
        Bytes *buffer = &reader->buffer;
        ssize_t n;
        int r;

        trace_reader_shift(reader);
        r = bytes_reserve(buffer, READ_BYTES_MIN);
        if (r)
                return r;
        do
                n = read(reader->fd, buffer->data + buffer->n, buffer->n_allocated - buffer->n);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        if (n == 0)
                return TRACE_READER_E_END;
        buffer->n += (size_t)n;
        return 0;
}

/* Tries to have `n` bytes ahead. At the end of the file there may be fewer. */
static int trace_reader_want(TraceReader *reader, size_t n) {
        while (trace_reader_n_ahead(reader) < n) {
                int r = trace_reader_fill(reader);

                if (r == TRACE_READER_E_END)
                        return 0;
                if (r)
                        return r;
        }
        return 0;
}

/* The frame ahead: the lengths of its header and of its packet. */
static int trace_reader_frame(TraceReader *reader, size_t *ret_n_header, size_t *ret_n_packet) {
        const uint8_t *start;
        WireReader wire;
        uint64_t n_packet;
        size_t n_ahead;
        int r;

        r = trace_reader_want(reader, 1 + WIRE_VARINT_MAX);
        if (r)
                return r;
        start = reader->buffer.data + reader->at;
        n_ahead = trace_reader_n_ahead(reader);
        if (n_ahead == 0)
                return TRACE_READER_E_END;
        if (start[0] != PACKET_TAG)
                return TRACE_READER_E_GARBAGE;

        wire_reader_init(&wire, start + 1, n_ahead - 1);
        if (wire_read_varint(&wire, &n_packet) < 0)
                return n_ahead <= WIRE_VARINT_MAX ? TRACE_READER_E_TRUNCATED
                                                  : TRACE_READER_E_GARBAGE;
        if (n_packet > TRACE_PACKET_BYTES_MAX)
                return TRACE_READER_E_GARBAGE;
        *ret_n_header = (size_t)(wire.at - start);
        *ret_n_packet = (size_t)n_packet;
        return 0;
}

/* A packet of less than 128 bytes that has already been read, as most have. */
static inline bool
trace_reader_next_small(TraceReader *reader, const uint8_t **ret, size_t *ret_n) {
        const uint8_t *start = reader->buffer.data + reader->at;
        const size_t n_ahead = trace_reader_n_ahead(reader);

        if (n_ahead < 2 || start[0] != PACKET_TAG || start[1] >= 0x80 || n_ahead - 2 < start[1])
                return false;
        *ret = start + 2;
        *ret_n = start[1];
        reader->n_frame = 2 + (size_t)start[1];
        reader->at += reader->n_frame;
        return true;
}

static int trace_reader_next_raw(TraceReader *reader, const uint8_t **ret, size_t *ret_n) {
        size_t n_header, n_packet;
        int r;

        if (LIKELY(trace_reader_next_small(reader, ret, ret_n)))
                return 0;
        r = trace_reader_frame(reader, &n_header, &n_packet);
        if (r)
                return r;
        r = trace_reader_want(reader, n_header + n_packet);
        if (r)
                return r;
        if (trace_reader_n_ahead(reader) < n_header + n_packet)
                return TRACE_READER_E_TRUNCATED;

        *ret = reader->buffer.data + reader->at + n_header;
        *ret_n = n_packet;
        reader->n_frame = n_header + n_packet;
        reader->at += reader->n_frame;
        return 0;
}

/* The fault is in the whole compressed packet, which is still in the buffer. */
static int trace_reader_refuse_packed(TraceReader *reader) {
        reader->at -= reader->n_frame;
        bytes_clear(&reader->unpacked);
        reader->unpacked_at = 0;
        return TRACE_READER_E_GARBAGE;
}

static int trace_reader_next_unpacked(TraceReader *reader, const uint8_t **ret, size_t *ret_n) {
        WireReader wire;
        WireField field;

        wire_reader_init(&wire,
                         reader->unpacked.data + reader->unpacked_at,
                         reader->unpacked.n - reader->unpacked_at);
        if (wire_read(&wire, &field) <= 0 || field.number != PACKET_TAG >> 3 ||
            field.type != WIRE_BYTES)
                return trace_reader_refuse_packed(reader);
        *ret = field.data;
        *ret_n = field.n_bytes;
        reader->unpacked_at += field.n_raw;
        return 0;
}

int trace_reader_next(TraceReader *reader, const uint8_t **ret, size_t *ret_n) {
        int r;

        for (;;) {
                if (reader->unpacked_at < reader->unpacked.n)
                        return trace_reader_next_unpacked(reader, ret, ret_n);
                r = trace_reader_next_raw(reader, ret, ret_n);
                if (r || trace_unpack_is_plain(*ret, *ret_n))
                        return r;
                r = trace_unpack(&reader->unpacked, *ret, *ret_n);
                if (r == TRACE_UNPACK_E_PLAIN)
                        return 0;
                if (r)
                        return r < 0 ? r : trace_reader_refuse_packed(reader);
                reader->unpacked_at = 0;
        }
}
