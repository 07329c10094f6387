/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace unpack: the packets in a compressed packet */

#include <errno.h>
#include <zlib.h>
#include <zstd.h>

#include "trace/trace-unpack.h"
#include "wire/wire-reader.h"

#define UNPACK_STEP_BYTES (256u << 10)

/* What both codecs share: they get more room until the end, or until the limit. */
typedef struct Unpacker {
        Bytes *out;
        const uint8_t *data;
        size_t n_data;
} Unpacker;

static int unpacker_reserve(Unpacker *unpacker) {
        if (unpacker->out->n >= TRACE_UNPACKED_BYTES_MAX)
                return TRACE_UNPACK_E_CORRUPT;
        return bytes_reserve(unpacker->out, UNPACK_STEP_BYTES);
}

static int unpack_deflate_steps(Unpacker *unpacker, z_stream *stream) {
        int status = Z_OK;

        while (status == Z_OK) {
                int r = unpacker_reserve(unpacker);

                if (r)
                        return r;
                stream->next_out = unpacker->out->data + unpacker->out->n;
                stream->avail_out = UNPACK_STEP_BYTES;
                status = inflate(stream, Z_NO_FLUSH);
                unpacker->out->n += UNPACK_STEP_BYTES - stream->avail_out;
        }
        return status == Z_STREAM_END ? 0 : TRACE_UNPACK_E_CORRUPT;
}

static int unpack_deflate(Unpacker *unpacker) {
        z_stream stream = {
                .next_in = (Bytef *)unpacker->data,
                .avail_in = (uInt)unpacker->n_data,
        };
        int r;

        if (inflateInit(&stream) != Z_OK)
                return -ENOMEM;
        r = unpack_deflate_steps(unpacker, &stream);
        inflateEnd(&stream);
        return r;
}

/* This ends with the frame. If a frame never ends, the input is used up and nothing more comes out. */
static int unpack_zstd_steps(Unpacker *unpacker, ZSTD_DCtx *context) {
        ZSTD_inBuffer in = { unpacker->data, unpacker->n_data, 0 };
        size_t left = 1;

        while (left > 0) {
                ZSTD_outBuffer out = { .size = UNPACK_STEP_BYTES };
                int r = unpacker_reserve(unpacker);

                if (r)
                        return r;
                out.dst = unpacker->out->data + unpacker->out->n;
                left = ZSTD_decompressStream(context, &out, &in);
                if (ZSTD_isError(left) || (left > 0 && in.pos == in.size && out.pos < out.size))
                        return TRACE_UNPACK_E_CORRUPT;
                unpacker->out->n += out.pos;
        }
        return 0;
}

static int unpack_zstd(Unpacker *unpacker) {
        ZSTD_DCtx *context = ZSTD_createDCtx();
        int r;

        if (!context)
                return -ENOMEM;
        r = unpack_zstd_steps(unpacker, context);
        ZSTD_freeDCtx(context);
        return r;
}

int trace_unpack(Bytes *out, const uint8_t *packet, size_t n) {
        Unpacker unpacker = { .out = out };
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, packet, n);
        if (wire_read(&reader, &field) <= 0 || field.type != WIRE_BYTES ||
            (field.number != TRACE_COMPRESSED_PACKETS &&
             field.number != TRACE_ZSTD_COMPRESSED_PACKETS))
                return TRACE_UNPACK_E_PLAIN;
        bytes_clear(out);
        unpacker.data = field.data;
        unpacker.n_data = field.n_bytes;
        return field.number == TRACE_COMPRESSED_PACKETS ? unpack_deflate(&unpacker)
                                                        : unpack_zstd(&unpacker);
}
