/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ftrace settings: a FtraceConfig with its defaults and limits applied */

#include "probes/ftrace/ftrace-settings.h"
#include "host/probe.h"
#include "shared/text.h"

#define MEMORY_LARGE (UINT64_C(7) << 30)

int ftrace_settings_init(FtraceSettings *ret,
                         const FtraceConfig *config,
                         uint64_t memory_bytes,
                         unsigned n_cpus,
                         char **ret_error) {
        uint64_t drain_ms = config->drain_period_ms, buffer_kb = config->buffer_size_kb;
        uint64_t max_kb = memory_bytes / FTRACE_MEMORY_SHARE / 1024 / MAX(n_cpus, 1u);
        uint64_t default_kb =
                memory_bytes >= MEMORY_LARGE ? FTRACE_BUFFER_KB_LARGE : FTRACE_BUFFER_KB;

        if (drain_ms > FTRACE_DRAIN_MS_MAX)
                drain_ms = 0;
        if (config->drain_buffer_percent > 100)
                return probe_refuse(ret_error,
                                    "drain_buffer_percent is %u; at most 100 is possible",
                                    config->drain_buffer_percent);
        if (buffer_kb == 0 || (config->buffer_size_lower_bound && buffer_kb < default_kb))
                buffer_kb = MIN(default_kb, max_kb);
        if (buffer_kb > max_kb) {
                char asked[TEXT_SIZE_BYTES], allowed[TEXT_SIZE_BYTES];

                return probe_refuse(
                        ret_error,
                        "buffer_size_kb asks for %s on each of %u CPUs; at most %s each "
                        "(a quarter of the memory in all) is allowed",
                        text_format_size(asked, buffer_kb * 1024),
                        n_cpus,
                        text_format_size(allowed, max_kb * 1024));
        }
        *ret = (FtraceSettings){
                .drain_period_ns = (drain_ms ?: FTRACE_DRAIN_MS) * PROBE_NS_PER_MS,
                .watched_period_ns = (drain_ms ?: FTRACE_WATCHED_MS) * PROBE_NS_PER_MS,
                .drain_percent = config->drain_buffer_percent,
                .buffer_kb = buffer_kb,
                .buffer_kb_max = max_kb,
                .compact_sched = !config->compact_sched || !config->compact_sched->has_enabled ||
                                 config->compact_sched->enabled,
        };
        return 0;
}
