/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf settings: what a config of linux.perf asks for, as the kernel has to be told */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf_event_config.pb-c.h"
#include "probes/perf/perf-records.h"
#include "probes/perf/perf-settings.h"
#include "shared/fd.h"

#define NS_PER_S             UINT64_C(1000000000)
#define PAGE_BYTES           4096u /* of ring_buffer_pages */
#define TRACEPOINT_BYTES_MAX 256u
#define CPUS_MAX             4096u
#define FAST_FREQUENCY       50u /* at this rate and above, rings are read more often */
#define SLOW_PERIOD_MS       100u

/* perfetto.protos.StackSample.Unit */
enum {
        UNIT_NANOSECONDS = 1,
        UNIT_PAGE_FAULTS = 5,
        UNIT_COUNT = 9,
};

typedef Perfetto__Protos__PerfEventConfig PerfEventConfig;
typedef Perfetto__Protos__PerfEvents__Timebase Timebase;

#define COUNTER(name) PERFETTO__PROTOS__PERF_EVENTS__COUNTER__##name

typedef struct Counter {
        uint32_t type;
        uint64_t config;
} Counter;

static const Counter counters[] = {
        [COUNTER(SW_CPU_CLOCK)] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
        [COUNTER(SW_PAGE_FAULTS)] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
        [COUNTER(SW_TASK_CLOCK)] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
        [COUNTER(SW_CONTEXT_SWITCHES)] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
        [COUNTER(SW_CPU_MIGRATIONS)] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
        [COUNTER(SW_PAGE_FAULTS_MIN)] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
        [COUNTER(SW_PAGE_FAULTS_MAJ)] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
        [COUNTER(SW_ALIGNMENT_FAULTS)] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
        [COUNTER(SW_EMULATION_FAULTS)] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
        [COUNTER(SW_DUMMY)] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
        [COUNTER(HW_CPU_CYCLES)] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
        [COUNTER(HW_INSTRUCTIONS)] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
        [COUNTER(HW_CACHE_REFERENCES)] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
        [COUNTER(HW_CACHE_MISSES)] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
        [COUNTER(HW_BRANCH_INSTRUCTIONS)] = { PERF_TYPE_HARDWARE,
                                              PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
        [COUNTER(HW_BRANCH_MISSES)] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
        [COUNTER(HW_BUS_CYCLES)] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
        [COUNTER(HW_STALLED_CYCLES_FRONTEND)] = { PERF_TYPE_HARDWARE,
                                                  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
        [COUNTER(HW_STALLED_CYCLES_BACKEND)] = { PERF_TYPE_HARDWARE,
                                                 PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
        [COUNTER(HW_REF_CPU_CYCLES)] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
};

static void set_counter(PerfSettings *settings, uint32_t counter) {
        settings->counter = counter;
        settings->type = counters[counter].type;
        settings->config = counters[counter].config;
        settings->is_software = settings->type == PERF_TYPE_SOFTWARE;
}

static int choose_counter(PerfSettings *settings, int counter, char **ret_error) {
        if (counter <= 0 || (size_t)counter >= ARRAY_SIZE(counters))
                return probe_refuse(ret_error, "%d is no counter of PerfEvents.Counter", counter);
        set_counter(settings, (uint32_t)counter);
        return 0;
}

/* Finds a tracepoint's number. Its name comes from the config, and must not lead to another file. */
static int read_tracepoint(uint64_t *ret, const char *name) {
        static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
        char path[TRACEPOINT_BYTES_MAX + 64];
        int r = -ENOENT;

        for (size_t i = 0; i < ARRAY_SIZE(roots) && r < 0; i++) {
                _cleanup_(freep) char *text = NULL;

                snprintf(path, sizeof(path), "%s/events/%s/id", roots[i], name);
                r = fd_read_file(&text, NULL, AT_FDCWD, path, 64);
                if (r == 0)
                        *ret = strtoull(text, NULL, 10);
        }
        return r;
}

static int choose_tracepoint(PerfSettings *settings,
                             const Perfetto__Protos__PerfEvents__Tracepoint *tracepoint,
                             char **ret_error) {
        const char *name = tracepoint->name ?: "";
        char *separator;
        int r;

        settings->tracepoint = strdup(name);
        settings->filter = tracepoint->filter ? strdup(tracepoint->filter) : NULL;
        if (!settings->tracepoint || (tracepoint->filter && !settings->filter))
                return -ENOMEM;
        separator = strpbrk(settings->tracepoint, ":/");
        if (!separator || separator[1] == '\0' || strpbrk(separator + 1, ":/") ||
            strstr(settings->tracepoint, "..") || strlen(name) >= TRACEPOINT_BYTES_MAX)
                return probe_refuse(ret_error,
                                    "\"%s\" names no tracepoint; write group/name, as in "
                                    "/sys/kernel/tracing/events",
                                    name);
        *separator = '/';
        settings->type = PERF_TYPE_TRACEPOINT;
        r = read_tracepoint(&settings->config, settings->tracepoint);
        if (r < 0)
                return probe_refuse(ret_error,
                                    "there is no tracepoint %s, or it may not be read (%s); see "
                                    "/sys/kernel/tracing/events",
                                    settings->tracepoint,
                                    strerror(-r));
        return 0;
}

static int choose_event(PerfSettings *settings, const Timebase *timebase, char **ret_error) {
        switch (timebase ? timebase->event_case
                         : PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__EVENT__NOT_SET) {
        case PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__EVENT_COUNTER:
                return choose_counter(settings, (int)timebase->counter, ret_error);
        case PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__EVENT_TRACEPOINT:
                return choose_tracepoint(settings, timebase->tracepoint, ret_error);
        case PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__EVENT_RAW_EVENT:
                settings->type = timebase->raw_event->type;
                settings->config = timebase->raw_event->config;
                settings->config1 = timebase->raw_event->config1;
                settings->config2 = timebase->raw_event->config2;
                return 0;
        default:
                set_counter(settings, COUNTER(SW_CPU_CLOCK));
                return 0;
        }
}

/* States of threads that wait: interruptibly (1) or not (2), stopped (4, 8), parked (64) or idle (128). A thread that
 * had to make way for another has 0 or 256, and one that ends has 16 or 32. */
#define SLEEP_TRACEPOINT "sched/sched_switch"
#define SLEEP_FILTER     "prev_pid != 0 && prev_state & 207"

static int choose_sleep(PerfSettings *settings, const PerfEventConfig *config, char **ret_error) {
        char filter[] = SLEEP_FILTER, name[] = SLEEP_TRACEPOINT;
        Perfetto__Protos__PerfEvents__Tracepoint tracepoint =
                PERFETTO__PROTOS__PERF_EVENTS__TRACEPOINT__INIT;

        if (config->timebase)
                return probe_refuse(ret_error,
                                    "off_cpu is the timebase: take timebase out, or make it a data "
                                    "source of its own");
        tracepoint.name = name;
        tracepoint.filter = filter;
        settings->is_off_cpu = true;
        settings->min_off_ns =
                (config->off_cpu->has_min_us ? config->off_cpu->min_us : PERF_SLEEP_MIN_US) *
                UINT64_C(1000);
        settings->stack_bytes = PERF_SLEEP_STACK_BYTES;
        settings->interval = 1;
        settings->weight = (PerfWeight){ "linux.offcpu", "off-cpu-time", UNIT_NANOSECONDS };
        return choose_tracepoint(settings, &tracepoint, ret_error);
}

static bool is_page_faults(const PerfSettings *settings) {
        return settings->counter == COUNTER(SW_PAGE_FAULTS) ||
               settings->counter == COUNTER(SW_PAGE_FAULTS_MIN) ||
               settings->counter == COUNTER(SW_PAGE_FAULTS_MAJ);
}

static int choose_weight(PerfSettings *settings, const PerfEventConfig *config, char **ret_error) {
        if (!config->stack_samples || settings->is_off_cpu)
                return 0;
        if (settings->is_frequency)
                return probe_refuse(ret_error,
                                    "stack_samples needs a period: with a frequency it is not "
                                    "known how many events a sample stands for");
        if (is_page_faults(settings))
                settings->weight = (PerfWeight){ "linux.faults", "page-faults", UNIT_PAGE_FAULTS };
        else if (settings->tracepoint)
                settings->weight =
                        (PerfWeight){ settings->tracepoint, settings->tracepoint, UNIT_COUNT };
        else
                settings->weight = (PerfWeight){ "linux.perf", "events", UNIT_COUNT };
        return 0;
}

static int
choose_interval(PerfSettings *settings, const PerfEventConfig *config, char **ret_error) {
        const Timebase *timebase = config->timebase;
        const bool has_period =
                timebase &&
                timebase->interval_case == PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INTERVAL_PERIOD;

        settings->is_frequency = !has_period;
        if (has_period)
                settings->interval = timebase->period;
        else if (timebase && timebase->interval_case ==
                                     PERFETTO__PROTOS__PERF_EVENTS__TIMEBASE__INTERVAL_FREQUENCY)
                settings->interval = timebase->frequency;
        else
                settings->interval = config->sampling_frequency ?: PERF_FREQUENCY_DEFAULT;
        if (settings->interval == 0)
                return probe_refuse(ret_error, "a period or frequency of 0 takes no samples");
        if (settings->is_frequency && settings->interval > PERF_FREQUENCY_MAX)
                return probe_refuse(ret_error,
                                    "frequency asks for %" PRIu64
                                    " samples a second and processor; at most %u are taken",
                                    settings->interval,
                                    PERF_FREQUENCY_MAX);
        return 0;
}

/* Hardware counters interrupt with NMIs, where only some clocks can be read; the kernel holds all but its software
 * counters to that. */
static int choose_clock(PerfSettings *settings, const Timebase *timebase, char **ret_error) {
        static const struct {
                int clock;
                uint32_t id;
        } clocks[] = {
                { -1, 0 },
                { CLOCK_REALTIME, PERF_CLOCK_ID_REALTIME },
                { CLOCK_MONOTONIC, PERF_CLOCK_ID_MONOTONIC },
                { CLOCK_MONOTONIC_RAW, PERF_CLOCK_ID_MONOTONIC_RAW },
                { CLOCK_BOOTTIME, PERF_CLOCK_ID_BOOTTIME },
        };
        size_t i = settings->is_software ? 4 : 2;

        if (timebase && timebase->timestamp_clock != 0)
                i = (size_t)timebase->timestamp_clock;
        if (i >= ARRAY_SIZE(clocks))
                return probe_refuse(ret_error, "timestamp_clock %zu is not known", i);
        settings->clock = clocks[i].clock;
        settings->clock_id = clocks[i].id;
        return 0;
}

static int choose_frames(PerfSettings *settings, const PerfEventConfig *config, char **ret_error) {
        const Perfetto__Protos__PerfEventConfig__CallstackSampling *sampling =
                config->callstack_sampling;

        if (!sampling) {
                /* The default of Perfetto's first version. Sleeps always have stacks, as they would mean nothing
                 * without. */
                settings->wants_user_frames = config->all_cpus || settings->is_off_cpu;
                settings->wants_kernel_frames = config->kernel_frames || settings->is_off_cpu;
                return 0;
        }
        settings->wants_kernel_frames = sampling->kernel_frames;
        switch (sampling->user_frames) {
        case PERFETTO__PROTOS__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_SKIP:
                return 0;
        case PERFETTO__PROTOS__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_UNKNOWN:
        case PERFETTO__PROTOS__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_DWARF:
                settings->wants_user_frames = true;
                return 0;
        case PERFETTO__PROTOS__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_FRAME_POINTER:
        case PERFETTO__PROTOS__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_KERNEL_FRAME_POINTER:
                settings->wants_user_frames = true;
                settings->kernel_walks = true;
                return 0;
        default:
                return probe_refuse(ret_error, "user_frames has a value that is not known");
        }
}

static int choose_cpus(PerfSettings *settings, const PerfEventConfig *config, char **ret_error) {
        if (config->n_target_cpu == 0)
                return 0;
        if (config->n_target_cpu > CPUS_MAX)
                return probe_refuse(ret_error, "target_cpu has more than %u entries", CPUS_MAX);
        settings->cpus = calloc(config->n_target_cpu, sizeof(*settings->cpus));
        if (!settings->cpus)
                return -ENOMEM;
        settings->n_cpus = config->n_target_cpu;
        memcpy(settings->cpus, config->target_cpu, settings->n_cpus * sizeof(*settings->cpus));
        return 0;
}

/* What ran in between has emptied the processor's caches, so a sample costs less if more of them are read at a time.
 * Nobody knows how often events come that have no rate. */
static uint32_t usual_period_ms(const PerfSettings *settings) {
        if (!settings->is_frequency)
                return PERF_SHORT_PERIOD_MS;
        return settings->interval < FAST_FREQUENCY ? SLOW_PERIOD_MS : PERF_LONG_PERIOD_MS;
}

static int choose_ring(PerfSettings *settings, const PerfEventConfig *config, char **ret_error) {
        const uint32_t pages = config->ring_buffer_pages;
        uint32_t period_ms = config->ring_buffer_read_period_ms;

        if ((pages & (pages - 1)) != 0 || pages > PERF_RING_BYTES_MAX / PAGE_BYTES)
                return probe_refuse(ret_error,
                                    "ring_buffer_pages: %u is no power of two up to %u",
                                    pages,
                                    PERF_RING_BYTES_MAX / PAGE_BYTES);
        settings->n_ring_bytes = (size_t)pages * PAGE_BYTES;
        settings->has_period = period_ms > 0;
        if (!settings->has_period)
                period_ms = usual_period_ms(settings);
        period_ms = MAX(period_ms, PERF_READ_PERIOD_MIN_MS);
        settings->period_ns = MIN(period_ms, PERF_READ_PERIOD_MAX_MS) * PROBE_NS_PER_MS;
        return 0;
}

static int choose_scope(PerfSettings *settings, const PerfEventConfig *config, char **ret_error) {
        Perfetto__Protos__PerfEventConfig__Scope legacy =
                PERFETTO__PROTOS__PERF_EVENT_CONFIG__SCOPE__INIT;

        if (config->callstack_sampling)
                return perf_scope_init(
                        &settings->scope, config->callstack_sampling->scope, ret_error);
        legacy.n_target_pid = config->n_target_pid;
        legacy.target_pid = config->target_pid;
        legacy.n_exclude_pid = config->n_exclude_pid;
        legacy.exclude_pid = config->exclude_pid;
        legacy.n_target_cmdline = config->n_target_cmdline;
        legacy.target_cmdline = config->target_cmdline;
        legacy.n_exclude_cmdline = config->n_exclude_cmdline;
        legacy.exclude_cmdline = config->exclude_cmdline;
        return perf_scope_init(&settings->scope, &legacy, ret_error);
}

int perf_settings_init(PerfSettings *ret, const DataSourceConfig *config, char **ret_error) {
        static const PerfEventConfig nothing = PERFETTO__PROTOS__PERF_EVENT_CONFIG__INIT;
        const PerfEventConfig *perf = config->perf_event_config ?: &nothing;
        int r;

        *ret = (PerfSettings){ .stack_bytes = PERF_STACK_BYTES };
        r = perf->off_cpu ? choose_sleep(ret, perf, ret_error)
                          : choose_event(ret, perf->timebase, ret_error);
        if (r == 0 && !perf->off_cpu)
                r = choose_interval(ret, perf, ret_error);
        if (r == 0)
                r = choose_weight(ret, perf, ret_error);
        if (r == 0)
                r = choose_clock(ret, perf->timebase, ret_error);
        if (r == 0)
                r = choose_frames(ret, perf, ret_error);
        if (r == 0)
                r = choose_cpus(ret, perf, ret_error);
        if (r == 0)
                r = choose_ring(ret, perf, ret_error);
        if (r == 0)
                r = choose_scope(ret, perf, ret_error);
        if (r != 0)
                perf_settings_deinit(ret);
        return r;
}

void perf_settings_deinit(PerfSettings *settings) {
        free(settings->filter);
        free(settings->tracepoint);
        free(settings->cpus);
        perf_scope_deinit(&settings->scope);
        *settings = (PerfSettings){};
}

int perf_settings_limit_to_own(PerfSettings *settings, char **ret_error) {
        if (settings->is_off_cpu)
                return probe_refuse(ret_error,
                                    "off_cpu is of the machine (linux.perf): the kernel tells "
                                    "users not even why their own programs sleep");
        settings->is_own = true;
        settings->wants_kernel_frames = false;
        return 0;
}

/* An event must reveal only that it occurred: a filter over its fields would reveal the kernel's memory bit by bit, and
 * a breakpoint anybody's memory. The processor's counters never count the kernel here. */
int perf_settings_limit_to_owner(PerfSettings *settings,
                                 const ProbeOwner *owner,
                                 char **ret_error) {
        if (!owner || owner->uid == (uid_t)-1 || owner->gid == (gid_t)-1)
                return probe_refuse(ret_error,
                                    "the probes do not know whose programs are to be shown: they "
                                    "were started with --trust-service, or who asks has gone; "
                                    "record linux.perf");
        if (owner->uid == 0)
                return probe_refuse(ret_error,
                                    "root sees all programs, with linux.perf: cpu.stacks is for "
                                    "those who may see only their own");
        if (settings->counter == 0 && !settings->is_off_cpu)
                return probe_refuse(ret_error,
                                    "of one's own programs the clock, counters, page faults and "
                                    "sleep are recorded; tracepoints and raw events are of the "
                                    "machine (linux.perf)");
        /* A program that has ended before anybody could ask the kernel about it is left out. */
        if (!settings->has_period && settings->interval >= FAST_FREQUENCY)
                settings->period_ns = PERF_SHORT_PERIOD_MS * PROBE_NS_PER_MS;
        settings->has_owner = true;
        settings->owner = *owner;
        settings->wants_kernel_frames = false;
        return 0;
}

void perf_settings_use_clock(PerfSettings *settings) {
        set_counter(settings, COUNTER(SW_CPU_CLOCK));
        if (!settings->is_frequency) { /* a number of cycles is not a number of nanoseconds */
                settings->is_frequency = true;
                settings->interval = PERF_FREQUENCY_DEFAULT;
        }
}

static bool is_clock(const PerfSettings *settings) {
        return settings->type == PERF_TYPE_SOFTWARE && settings->is_frequency &&
               (settings->config == PERF_COUNT_SW_CPU_CLOCK ||
                settings->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool perf_settings_read_in_time(const PerfSettings *settings, size_t n_ring_bytes) {
        const uint64_t n_samples = settings->interval * settings->period_ns / NS_PER_S + 1;

        return is_clock(settings) && n_samples <= n_ring_bytes / PERF_RECORD_BYTES_MAX / 2;
}
