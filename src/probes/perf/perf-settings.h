/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf settings: what a config of linux.perf asks for, as the kernel has to be told
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "host/probe.h"
#include "probes/perf/perf-scope.h"

#define PERF_FREQUENCY_DEFAULT 10u    /* Perfetto's */
#define PERF_FREQUENCY_MAX     10000u /* a processor and second */
/* The most that fits into a record beside its other fields; Clang needs it. */
#define PERF_STACK_BYTES 65000u
#define PERF_SLEEP_STACK_BYTES \
        16376u /* for threads that sleep: there are many, and few stacks are deep */
#define PERF_SLEEP_MIN_US       50u
#define PERF_RING_BYTES_MAX     (16u << 20)  /* of a processor */
#define PERF_RINGS_BYTES_MAX    (128u << 20) /* of all together */
#define PERF_SHORT_PERIOD_MS    20u          /* of reading, if the config says none */
#define PERF_LONG_PERIOD_MS     80u
#define PERF_READ_PERIOD_MIN_MS 5u
#define PERF_READ_PERIOD_MAX_MS 1000u

/* Clocks of trace packets (perfetto.protos.BuiltinClock). */
enum {
        PERF_CLOCK_ID_REALTIME = 1,
        PERF_CLOCK_ID_MONOTONIC = 3,
        PERF_CLOCK_ID_MONOTONIC_RAW = 5,
        PERF_CLOCK_ID_BOOTTIME = 6,
};

/* What a sample's weight counts, for the trace. */
typedef struct PerfWeight {
        const char *source; /* NULL: samples have no weight */
        const char *name;
        uint32_t unit; /* StackSample.Unit */
} PerfWeight;

typedef struct PerfSettings {
        uint32_t type; /* PERF_TYPE_… */
        uint64_t config;
        uint64_t config1;
        uint64_t config2;
        bool is_frequency;
        uint64_t interval; /* a frequency, or how many events lie between two samples */
        bool is_software;  /* it may take any clock */
        int clock;         /* CLOCK_… */
        uint32_t clock_id; /* the same in packets */
        bool is_own;       /* only of a user's programs, and only outside of the kernel */
        bool has_owner; /* only those of the machine's processes are shown that this user may read */
        ProbeOwner owner;
        char *filter; /* of a tracepoint; NULL: none */
        bool wants_kernel_frames;
        bool wants_user_frames;
        bool kernel_walks; /* along frame pointers; otherwise the probes do, with compilers' unwind tables */
        uint32_t *cpus; /* NULL: all */
        size_t n_cpus;
        size_t n_ring_bytes; /* 0: as it fits */
        uint64_t period_ns;  /* of reading */
        bool has_period;     /* the config says which */
        PerfScope scope;
        uint32_t counter; /* PerfEvents.Counter, for the trace; 0: none of them */
        char *tracepoint; /* its name, for the trace; NULL: not a tracepoint */
        PerfWeight weight;
        bool is_off_cpu;     /* a sample is of a sleep, and begins with it */
        uint64_t min_off_ns; /* only of sleeps that last at least this long */
        uint32_t stack_bytes;
} PerfSettings;

/* Returns 0, PROBE_E_REFUSED with *ret_error, or a negative errno. */
int perf_settings_init(PerfSettings *ret, const DataSourceConfig *config, char **ret_error);
void perf_settings_deinit(PerfSettings *settings);

/* Limits the settings to what users may sample of their own programs: 0, or PROBE_E_REFUSED. */
int perf_settings_limit_to_own(PerfSettings *settings, char **ret_error);

/* Limits the settings to what samples of the machine may show to a user: 0, or PROBE_E_REFUSED. */
int perf_settings_limit_to_owner(PerfSettings *settings, const ProbeOwner *owner, char **ret_error);

/* Samples by the clock instead, as the processor's own counters are missing. */
void perf_settings_use_clock(PerfSettings *settings);

/* Whether samples fill no more than half of a ring until it is next read, however much of the stack each has. To be
 * told of such a ring would mean to read it twice as often, as the kernel counts what was written and not what has yet
 * to be read. Other events than a clock's may come faster than their frequency for a while. */
bool perf_settings_read_in_time(const PerfSettings *settings, size_t n_ring_bytes);
