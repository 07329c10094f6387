/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Config: a decoded trace config that keeps the user's bytes */

#include <errno.h>

#include "config/config-check.h"
#include "config/config.h"
#include "config/text-format.h"

/* Field numbers of the path to a data source's config. */
#define TRACE_CONFIG_DATA_SOURCES 2
#define DATA_SOURCE_CONFIG        1

static const ProtobufCMessageDescriptor *const trace_config =
        &perfetto__protos__trace_config__descriptor;

Config *config_free(Config *config) {
        if (!config)
                return NULL;
        if (config->pb)
                perfetto__protos__trace_config__free_unpacked(config->pb, NULL);
        free(config->sources);
        free(config->bytes);
        free(config);
        return NULL;
}

/* The slice of the config inside one DataSource; config_check_bytes() has seen to it that there is
 * at most one. */
static ConfigSource find_source(const ConfigField *data_source) {
        const uint8_t *at = data_source->data, *end = at + data_source->n_bytes;
        ConfigSource source = {};
        ConfigField field;

        while (config_field_next(&at, end, &field) > 0)
                if (field.number == DATA_SOURCE_CONFIG)
                        source = (ConfigSource){ field.data, field.n_bytes };
        return source;
}

static int config_find_sources(Config *config) {
        const uint8_t *at = config->bytes, *end = at + config->n_bytes;
        ConfigField field;
        size_t n = 0;

        config->sources =
                calloc(MAX(config->pb->n_data_sources, (size_t)1), sizeof(*config->sources));
        if (!config->sources)
                return -ENOMEM;
        while (config_field_next(&at, end, &field) > 0)
                if (field.number == TRACE_CONFIG_DATA_SOURCES && n < config->pb->n_data_sources)
                        config->sources[n++] = find_source(&field);
        return 0;
}

/* Takes ownership of the bytes, even on failure. */
static int config_new_take(Config **ret, uint8_t *bytes, size_t n_bytes, ConfigError *error) {
        _cleanup_(config_freep) Config *config = NULL;
        int r;

        config = calloc(1, sizeof(*config));
        if (!config) {
                free(bytes);
                return -ENOMEM;
        }
        config->bytes = bytes;
        config->n_bytes = n_bytes;
        if (n_bytes > CONFIG_BYTES_MAX)
                return config_error_set(error,
                                        0,
                                        0,
                                        "The config is larger than %u bytes (CONFIG_BYTES_MAX)",
                                        CONFIG_BYTES_MAX);
        r = config_check_bytes(trace_config, bytes, n_bytes, error);
        if (r)
                return r;
        config->pb = perfetto__protos__trace_config__unpack(NULL, n_bytes, bytes);
        if (!config->pb)
                return -ENOMEM; /* the bytes are valid, so only memory can be missing */
        r = config_find_sources(config);
        if (r)
                return r;
        *ret = TAKE(config);
        return 0;
}

int config_new_from_bytes(Config **ret, const void *bytes, size_t n_bytes, ConfigError *error) {
        uint8_t *copy;

        if (n_bytes > CONFIG_BYTES_MAX)
                return config_error_set(error,
                                        0,
                                        0,
                                        "The config is larger than %u bytes (CONFIG_BYTES_MAX)",
                                        CONFIG_BYTES_MAX);
        copy = malloc(MAX(n_bytes, (size_t)1));
        if (!copy)
                return -ENOMEM;
        if (n_bytes > 0)
                memcpy(copy, bytes, n_bytes);
        return config_new_take(ret, copy, n_bytes, error);
}

int config_new_from_text(Config **ret, const char *text, ConfigError *error) {
        _cleanup_(bytes_deinit) Bytes bytes = {};
        int r;

        if (strlen(text) > CONFIG_BYTES_MAX)
                return config_error_set(error,
                                        0,
                                        0,
                                        "The config is larger than %u bytes (CONFIG_BYTES_MAX)",
                                        CONFIG_BYTES_MAX);
        r = text_format_parse(&bytes, trace_config, text, error);
        if (r)
                return r;
        r = bytes_reserve(&bytes, 1); /* an empty config still needs a non-NULL pointer */
        if (r < 0)
                return r;
        return config_new_take(ret, TAKE(bytes.data), bytes.n, error);
}

int config_new_from_message(Config **ret, const Perfetto__Protos__TraceConfig *message) {
        size_t n_bytes = perfetto__protos__trace_config__get_packed_size(message);
        uint8_t *bytes;
        ConfigError error;
        int r;

        if (n_bytes > CONFIG_BYTES_MAX)
                return -E2BIG;
        bytes = malloc(MAX(n_bytes, (size_t)1));
        if (!bytes)
                return -ENOMEM;
        perfetto__protos__trace_config__pack(message, bytes);
        r = config_new_take(ret, bytes, n_bytes, &error);
        return r == CONFIG_E_INVALID ? -EINVAL : r;
}

int config_to_text(char **ret, const Config *config) {
        return text_format_print(ret, &config->pb->base);
}
