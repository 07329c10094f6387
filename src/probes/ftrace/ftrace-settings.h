/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Ftrace settings: a FtraceConfig with its defaults and limits applied
 */

#include <stdbool.h>
#include <stdint.h>

#include "ftrace_config.pb-c.h"

typedef Perfetto__Protos__FtraceConfig FtraceConfig;

#define FTRACE_DRAIN_MS        100   /* default */
#define FTRACE_WATCHED_MS      1000  /* the same, where the kernel tells when a ring is this full */
#define FTRACE_DRAIN_MS_MAX    60000 /* beyond, the default is used, as Perfetto does */
#define FTRACE_BUFFER_KB       2048  /* the default for each CPU */
#define FTRACE_BUFFER_KB_LARGE 8192  /* the same, on machines with at least 7 GiB */
#define FTRACE_MEMORY_SHARE    4 /* the CPUs together get at most this part of the machine's memory */
#define FTRACE_SUBBUFFER_KB    32 /* bytes of one read, in KiB; kernels before 6.8 have only pages */

typedef struct FtraceSettings {
        uint64_t drain_period_ns;
        uint64_t watched_period_ns; /* with drain_percent, if the kernel tells it */
        unsigned drain_percent;     /* 0: only the period counts */
        uint64_t buffer_kb;         /* for each CPU */
        uint64_t buffer_kb_max;     /* the limit for all recordings together, for each CPU */
        bool compact_sched;
} FtraceSettings;

/* Returns 0, or PROBE_E_REFUSED if the machine's memory (or number of CPUs) does not allow it, or if a percentage is
 * impossible. */
int ftrace_settings_init(FtraceSettings *ret,
                         const FtraceConfig *config,
                         uint64_t memory_bytes,
                         unsigned n_cpus,
                         char **ret_error);
