/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Batches through zstd or zlib. The compressed bytes are placed as if the packet's head were as long as possible, and
 * moved up a few bytes once its length is known.
 */

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "compress.h"
#include "wire/wire-writer.h"

#define TRACE_PACKET  1 /* field of perfetto.protos.Trace */
#define DEFLATE_LEVEL 6

/* Higher levels of zstd take tens of megabytes and seconds for little gain. */
#define ZSTD_LEVEL_MAX 19

typedef struct CodecOps {
        uint32_t field; /* of TracePacket */
        int (*init)(Compressor *compressor, int level);
        void (*deinit)(Compressor *compressor);
        size_t (*bound)(Compressor *compressor, size_t n);
        int (*run)(Compressor *compressor, const void *data, size_t n, uint8_t *to, size_t *n_to);
} CodecOps;

struct Compressor {
        const CodecOps *ops;
        z_stream deflate;
        ZSTD_CCtx *zstd;
};

static int deflate_init(Compressor *compressor, int level) {
        return deflateInit(&compressor->deflate, DEFLATE_LEVEL) == Z_OK ? 0 : -ENOMEM;
}

static void deflate_deinit(Compressor *compressor) {
        deflateEnd(&compressor->deflate);
}

static size_t deflate_bound(Compressor *compressor, size_t n) {
        return deflateBound(&compressor->deflate, n);
}

static int
deflate_run(Compressor *compressor, const void *data, size_t n, uint8_t *to, size_t *n_to) {
        z_stream *stream = &compressor->deflate;

        if (deflateReset(stream) != Z_OK)
                return -EIO;
        stream->next_in = (Bytef *)data;
        stream->avail_in = (uInt)n;
        stream->next_out = to;
        stream->avail_out = (uInt)*n_to;
        if (deflate(stream, Z_FINISH) != Z_STREAM_END)
                return -EIO;
        *n_to = stream->total_out;
        return 0;
}

static int zstd_init(Compressor *compressor, int level) {
        compressor->zstd = ZSTD_createCCtx();
        if (!compressor->zstd)
                return -ENOMEM;
        ZSTD_CCtx_setParameter(
                compressor->zstd, ZSTD_c_compressionLevel, MIN(level, ZSTD_LEVEL_MAX));
        return 0;
}

static void zstd_deinit(Compressor *compressor) {
        ZSTD_freeCCtx(compressor->zstd);
}

static size_t zstd_bound(Compressor *compressor, size_t n) {
        return ZSTD_compressBound(n);
}

static int zstd_run(Compressor *compressor, const void *data, size_t n, uint8_t *to, size_t *n_to) {
        const size_t r = ZSTD_compress2(compressor->zstd, to, *n_to, data, n);

        if (ZSTD_isError(r))
                return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? -ENOMEM : -EIO;
        *n_to = r;
        return 0;
}

static const CodecOps codecs[_CODEC_N] = {
        [CODEC_DEFLATE] = { 50, deflate_init, deflate_deinit, deflate_bound, deflate_run },
        [CODEC_ZSTD] = { 133, zstd_init, zstd_deinit, zstd_bound, zstd_run },
};

int compressor_new(Compressor **ret, const Compression *compression) {
        Compressor *compressor;
        int r;

        compressor = calloc(1, sizeof(*compressor));
        if (!compressor)
                return -ENOMEM;
        compressor->ops = &codecs[compression->codec];
        r = compressor->ops->init(compressor, compression->level);
        if (r < 0) {
                free(compressor);
                return r;
        }
        *ret = compressor;
        return 0;
}

Compressor *compressor_free(Compressor *compressor) {
        if (!compressor)
                return NULL;
        compressor->ops->deinit(compressor);
        free(compressor);
        return NULL;
}

/* Tag and length of the packet, and of its only field. */
#define HEAD_BYTES_MAX (2 * (WIRE_TAG_MAX + WIRE_VARINT_MAX))

static size_t put_head(uint8_t head[static HEAD_BYTES_MAX], uint32_t field, size_t n) {
        uint8_t inner[WIRE_TAG_MAX + WIRE_VARINT_MAX];
        uint8_t *end;
        size_t n_inner;

        end = wire_encode_varint(inner, (uint64_t)field << 3 | WIRE_BYTES);
        end = wire_encode_varint(end, n);
        n_inner = (size_t)(end - inner);
        end = wire_encode_varint(head, TRACE_PACKET << 3 | WIRE_BYTES);
        end = wire_encode_varint(end, n_inner + n);
        memcpy(end, inner, n_inner);
        return (size_t)(end - head) + n_inner;
}

int compressor_put(Compressor *compressor, const void *data, size_t n, Bytes *out) {
        const size_t n_bound = compressor->ops->bound(compressor, n);
        uint8_t head[HEAD_BYTES_MAX];
        size_t n_head, n_packed = n_bound;
        uint8_t *at;
        int r;

        r = bytes_reserve(out, HEAD_BYTES_MAX + n_bound);
        if (r < 0)
                return r;
        at = out->data + out->n;
        r = compressor->ops->run(compressor, data, n, at + HEAD_BYTES_MAX, &n_packed);
        if (r < 0)
                return r;
        n_head = put_head(head, compressor->ops->field, n_packed);
        memcpy(at, head, n_head);
        memmove(at + n_head, at + HEAD_BYTES_MAX, n_packed);
        out->n += n_head + n_packed;
        return 0;
}
