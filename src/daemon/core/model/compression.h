/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Compression: what a config wants its trace to be compressed with
 *
 * Only the choice; who writes the trace compresses (output/output-ops.h).
 */

#include "config/config.h"

/* In the order of preference, lowest first. */
typedef enum Codec {
        CODEC_NONE,
        CODEC_DEFLATE,
        CODEC_ZSTD,
        _CODEC_N,
} Codec;

typedef struct Compression {
        Codec codec;
        int level; /* 0: the codec's default; beyond its limits: the nearest */
} Compression;

/* The best of what TraceConfig.compression names, else of compression_type, that the bits 1 << Codec of `supported`
 * have. What is not supported or not known is passed over: a trace that is not compressed is better than none. */
Compression compression_choose(const Perfetto__Protos__TraceConfig *config, unsigned supported);
