/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Compression: the codec that a config asks for
 *
 * This is only the choice; the output compresses (output/output-ops.h).
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
        int level; /* 0: the codec's default; values beyond its limits are clamped */
} Compression;

/* The best codec that TraceConfig.compression names, else compression_type, and whose bit (1 << Codec) is in
 * `supported`. Unsupported and unknown ones are skipped: an uncompressed trace is better than none. */
Compression compression_choose(const Perfetto__Protos__TraceConfig *config, unsigned supported);
