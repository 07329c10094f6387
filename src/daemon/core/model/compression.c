/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Choosing a codec: the best that both the config names and this build supports. */

#include <stdbool.h>

#include "core/model/compression.h"

typedef Perfetto__Protos__TraceConfig TraceConfig;
typedef Perfetto__Protos__TraceConfig__CompressionConfig CompressionConfig;

/* The older field, from when there was only one codec. */
static bool config_has_legacy_deflate(const TraceConfig *config) {
        return config->compression_type ==
               PERFETTO__PROTOS__TRACE_CONFIG__COMPRESSION_TYPE__COMPRESSION_TYPE_DEFLATE;
}

Compression compression_choose(const TraceConfig *config, unsigned supported) {
        const CompressionConfig *named = config->compression;

        if (named && named->zstd && (supported & 1 << CODEC_ZSTD))
                return (Compression){ CODEC_ZSTD, named->zstd->level };
        if (((named && named->deflate) || config_has_legacy_deflate(config)) &&
            (supported & 1 << CODEC_DEFLATE))
                return (Compression){ .codec = CODEC_DEFLATE };
        return (Compression){};
}
