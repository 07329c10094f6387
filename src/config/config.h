/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Config: a decoded trace config that keeps the user's bytes
 *
 * Holds the serialized perfetto.protos.TraceConfig as given, byte for byte, and its decoded form. The decoded form is
 * read-only: changes on the way to a data source are appended to the raw bytes (in protobuf the last value wins), so
 * fields that we do not know survive.
 */

#include <stddef.h>
#include <stdint.h>

#include "config/config-error.h"
#include "shared/macro.h"
#include "trace_config.pb-c.h"

typedef struct ConfigSource {
        const uint8_t *bytes; /* the serialized DataSourceConfig inside Config.bytes; NULL: none */
        size_t n_bytes;
} ConfigSource;

typedef struct Config {
        uint8_t *bytes;
        size_t n_bytes;
        Perfetto__Protos__TraceConfig *pb;
        ConfigSource *sources; /* one for each pb->data_sources[i] */
} Config;

#define CONFIG_BYTES_MAX (1u << 20) /* of bytes, and of text; more limits in config-check.h */

/* Decodes; copies the bytes. Returns 0, CONFIG_E_INVALID or -ENOMEM. */
int config_new_from_bytes(Config **ret, const void *bytes, size_t n_bytes, ConfigError *error);

/* Parses protobuf text format. Returns 0, CONFIG_E_INVALID or -ENOMEM. */
int config_new_from_text(Config **ret, const char *text, ConfigError *error);

/* From a message built in memory (packed, then decoded again). Returns 0, -ENOMEM, -E2BIG past CONFIG_BYTES_MAX or
 * -EINVAL when config_new_from_bytes() would refuse it. */
int config_new_from_message(Config **ret, const Perfetto__Protos__TraceConfig *message);

Config *config_free(Config *config);
DEFINE_CLEANUP(Config *, config_free)

/* The config as text format, malloc'ed. Unknown fields are shown by number. */
int config_to_text(char **ret, const Config *config);
