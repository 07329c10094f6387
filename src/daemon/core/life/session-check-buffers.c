/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks of buffers, and of the data sources that write to them. */

#include <stdio.h>

#include "core/life/check.h"
#include "shared/text.h"

int check_buffer_count(const Check *check) {
        return check_range(check,
                           "the number of buffers",
                           check->config->n_buffers,
                           SESSION_BUFFERS_MAX,
                           "SESSION_BUFFERS_MAX");
}

static int check_buffer(const Check *check, size_t i) {
        const Perfetto__Protos__TraceConfig__BufferConfig *buffer = check->config->buffers[i];
        char field[48];

        snprintf(field, sizeof(field), "buffers[%zu].size_kb", i);
        if (buffer->size_kb == 0)
                return session_error(check->error, SESSION_E_CONFIG, "%s is not set", field);
        if (buffer->fill_policy >
                    PERFETTO__PROTOS__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD ||
            buffer->fill_policy < 0)
                return session_error(
                        check->error,
                        SESSION_E_CONFIG,
                        "buffers[%zu].fill_policy %d is unknown: it must be RING_BUFFER or DISCARD",
                        i,
                        (int)buffer->fill_policy);
        return check_range(check,
                           field,
                           buffer->size_kb,
                           TRACE_BUFFER_BYTES_MAX / 1024,
                           "TRACE_BUFFER_BYTES_MAX");
}

int check_buffers(const Check *check) {
        uint64_t n_bytes = 0;

        for (size_t i = 0; i < check->config->n_buffers; i++) {
                int r = check_buffer(check, i);

                if (r)
                        return r;
                n_bytes += session_buffer_bytes(check->config->buffers[i]);
        }
        return check_quota(check, QUOTA_BUFFER_BYTES, n_bytes);
}

int check_buffer_names(const Check *check) {
        for (size_t i = 0; i < check->config->n_buffers; i++) {
                const char *name = check->config->buffers[i]->name;

                if (name && name[0] && config_find_buffer(check->config, name) != (ssize_t)i)
                        return session_error(check->error,
                                             SESSION_E_CONFIG,
                                             "two buffers are named \"%.64s\"",
                                             name);
        }
        return 0;
}

static const char *config_nearest_buffer(const ConfigPb *config, const char *name) {
        const char *known[SESSION_BUFFERS_MAX];
        size_t n = 0;

        for (size_t i = 0; i < config->n_buffers && n < ARRAY_SIZE(known); i++)
                if (config->buffers[i]->name && config->buffers[i]->name[0])
                        known[n++] = config->buffers[i]->name;
        return text_nearest(name, known, n);
}

static int check_target(const Check *check, const Perfetto__Protos__DataSourceConfig *source) {
        ssize_t target = session_target_buffer(check->config, source);
        const char *name = source->target_buffer_name;

        if (target < 0 && name && name[0]) {
                const char *nearest = config_nearest_buffer(check->config, name);

                if (!nearest)
                        return session_error(check->error,
                                             SESSION_E_CONFIG,
                                             "%.64s: no buffer is named \"%.64s\"",
                                             source->name,
                                             name);
                return session_error(check->error,
                                     SESSION_E_CONFIG,
                                     "%.64s: no buffer is named \"%.64s\"; did you mean \"%.64s\"?",
                                     source->name,
                                     name,
                                     nearest);
        }
        if (target < 0 && check->config->n_buffers == 0)
                return session_error(check->error,
                                     SESSION_E_CONFIG,
                                     "%.64s: the config has no buffers: add \"buffers { size_kb: "
                                     "4096 }\"",
                                     source->name);
        if (target < 0)
                return session_error(
                        check->error,
                        SESSION_E_CONFIG,
                        "%.64s: target_buffer %u is out of range: the last buffer is %zu",
                        source->name,
                        source->target_buffer,
                        check->config->n_buffers - 1);
        if (source->target_buffer > 0 && source->target_buffer != (uint64_t)target)
                return session_error(check->error,
                                     SESSION_E_CONFIG,
                                     "%.64s: target_buffer %u and target_buffer_name \"%.64s\" "
                                     "(%zd) do not agree",
                                     source->name,
                                     source->target_buffer,
                                     name,
                                     target);
        return 0;
}

int check_targets(const Check *check) {
        for (size_t i = 0; i < check->config->n_data_sources; i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        check->config->data_sources[i]->config;
                int r;

                if (!source || !source->name || !source->name[0])
                        return session_error(check->error,
                                             SESSION_E_CONFIG,
                                             "data_sources[%zu] has no config.name",
                                             i);
                r = check_target(check, source);
                if (r)
                        return r;
        }
        return 0;
}
