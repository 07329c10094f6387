/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* linux.perf and cpu.stacks: call stacks of the machine, or of one user's programs */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "probes/perf/perf-cost.h"
#include "probes/perf/perf-events.h"
#include "probes/perf/perf-own.h"
#include "probes/perf/perf-probe.h"
#include "probes/perf/perf-sampler.h"
#include "shared/log.h"

#define SCAN_WAIT_NS      (500 * PROBE_NS_PER_MS) /* for /proc, before the first samples are read */
#define SCAN_PERIOD_NS    (2 * PROBE_NS_PER_MS)
#define SCAN_FILL_PERCENT 20u
#define NICE              (-10)

typedef struct PerfProbe {
        PerfSettings settings;
        PerfEvents events;
        PerfOwn own; /* empty where the machine is sampled */
        bool is_open;
        PerfSampler sampler;
        bool has_sampler;
        bool recording;
        bool is_scanned;
        bool is_hurrying;
        uint64_t started_ns;
        PerfCost cost;
} PerfProbe;

/* Recordings; all are read on the main thread. */
static unsigned n_hurrying;

/* Rings have room for a fraction of a second, and must be read in time also on a busy machine. The cost is bounded
 * elsewhere. Threads that are started from now on inherit this priority. */
static void hurry(PerfProbe *perf) {
        perf->is_hurrying = true;
        if (n_hurrying++ == 0 && setpriority(PRIO_PROCESS, 0, NICE) < 0)
                log_info("sampling has no precedence over other programs: %m");
}

static void stop_hurrying(const PerfProbe *perf) {
        if (perf->is_hurrying && --n_hurrying == 0)
                (void)setpriority(PRIO_PROCESS, 0, 0);
}

static void *perf_free(void *userdata) {
        PerfProbe *perf = userdata;

        if (!perf)
                return NULL;
        stop_hurrying(perf);
        perf_own_detach(&perf->own);
        if (perf->is_open)
                perf_events_deinit(&perf->events);
        if (perf->has_sampler)
                perf_sampler_deinit(&perf->sampler);
        perf_settings_deinit(&perf->settings);
        free(perf);
        return NULL;
}

static void perf_freep(PerfProbe **perf) {
        perf_free(*perf);
}

/* Without names a kernel frame says nothing. */
static void check_kernel(PerfProbe *perf, ProbeNotes *notes) {
        const int r = perf->settings.wants_kernel_frames ? kernel_symbols_check() : 0;

        if (r == 0)
                return;
        perf->settings.wants_kernel_frames = false;
        probe_note(notes,
                   "no frames of the kernel, because /proc/kallsyms cannot be read (%s): "
                   "the probes need CAP_SYSLOG",
                   strerror(-r));
}

/* Names are not needed before samples are written. Reading them takes a processor and the lock of the probes' memory,
 * and mapping the rings would have to wait for that lock. */
static void read_kernel(PerfProbe *perf) {
        int r;

        if (!perf->settings.wants_kernel_frames)
                return;
        r = perf_kernel_read(&perf->sampler.kernel);
        if (r < 0)
                log_warning("frames of the kernel have no names: %s", strerror(-r));
}

static int attach(PerfProbe *perf, ProbeNotes *notes, char **ret_error) {
        int r;

        r = perf_own_attach(&perf->own, &perf->events, &perf->settings, ret_error);
        if (r == 0 && perf->own.n_missed > 0)
                probe_note(notes,
                           "%zu threads are not sampled: there are more than %u events, or than "
                           "files may be open (ulimit -n); name programs by target_pid",
                           perf->own.n_missed,
                           PERF_OWN_EVENTS_MAX);
        return r;
}

typedef enum Whose {
        WHOSE_MACHINE,
        WHOSE_OWN,    /* of the user who runs the probes: events of threads */
        WHOSE_OWNERS, /* of the user who asks: events of the machine, few of which are shown */
} Whose;

static int limit_settings(PerfProbe *perf, const ProbeSetup *setup, Whose whose, char **ret_error) {
        switch (whose) {
        case WHOSE_OWN:
                return perf_settings_limit_to_own(&perf->settings, ret_error);
        case WHOSE_OWNERS:
                return perf_settings_limit_to_owner(&perf->settings, setup->owner, ret_error);
        case WHOSE_MACHINE:
        default:
                return 0;
        }
}

static int setup(void **ret, const ProbeSetup *setup, Whose whose, char **ret_error) {
        _cleanup_(perf_freep) PerfProbe *perf = calloc(1, sizeof(*perf));
        bool uses_clock = false;
        int r;

        if (!perf)
                return -ENOMEM;
        r = perf_settings_init(&perf->settings, setup->config, ret_error);
        if (r != 0)
                return r;
        r = limit_settings(perf, setup, whose, ret_error);
        if (r != 0)
                return r;
        hurry(perf);
        check_kernel(perf, setup->notes);
        r = perf_sampler_init(&perf->sampler, &perf->settings, setup->sink);
        perf->has_sampler = true;
        if (r < 0)
                return r;
        r = perf_events_open(&perf->events, &perf->settings, &uses_clock, ret_error);
        if (r != 0)
                return r;
        perf->is_open = true;
        if (uses_clock) {
                perf->sampler.writer.interval = perf->settings.interval;
                probe_note(setup->notes,
                           "this machine has no counters of the processor, as virtual machines "
                           "often have none: samples are taken by time, %" PRIu64 " a second",
                           perf->settings.interval);
        }
        perf->sampler.events = &perf->events;
        r = whose == WHOSE_OWN ? attach(perf, setup->notes, ret_error) : 0;
        if (r != 0)
                return r;
        *ret = TAKE(perf);
        return 0;
}

static int machine_setup(void **ret, const ProbeSetup *options, char **ret_error) {
        return setup(ret, options, WHOSE_MACHINE, ret_error);
}

static int own_setup(void **ret, const ProbeSetup *options, char **ret_error) {
        return setup(ret, options, WHOSE_OWN, ret_error);
}

static int owners_setup(void **ret, const ProbeSetup *options, char **ret_error) {
        return setup(ret, options, WHOSE_OWNERS, ret_error);
}

static int perf_start(void *userdata, char **ret_error) {
        PerfProbe *perf = userdata;
        int r;

        perf->started_ns = probe_now_ns();
        perf->cost = (PerfCost){ .since_ns = perf->started_ns };
        r = perf_events_enable(&perf->events);
        if (r < 0)
                return r;
        perf_own_enable(&perf->own);
        perf->recording = true;
        read_kernel(perf);
        /* This comes after that, so that records show processes which are started meanwhile. */
        if (perf->settings.wants_user_frames)
                (void)perf_processes_scan(&perf->sampler.processes);
        return 0;
}

static uint64_t clock_now_ns(clockid_t clock) {
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void drain(PerfProbe *perf) {
        const uint64_t begun_ns = probe_cpu_ns();
        PerfRing *ring;

        perf_sampler_begin(&perf->sampler);
        perf_events_begin(&perf->events);
        while ((ring = perf_events_oldest(&perf->events))) {
                perf_sampler_take(
                        &perf->sampler, ring->record, ring->n_record, ring->cpu, ring->record_ns);
                perf_ring_next(ring);
                perf_ring_end(ring);
        }
        perf_events_end(&perf->events);
        perf_sampler_end(&perf->sampler);
        perf->cost.cost_ns += probe_cpu_ns() - begun_ns;
}

/* Inherited events cannot be changed, so all are opened again. */
static void set_interval(PerfProbe *perf, uint64_t interval) {
        _cleanup_(freep) char *error = NULL;

        perf->sampler.writer.interval = interval;
        perf_sampler_clear(&perf->sampler);
        if (!perf->settings.is_own) {
                perf_events_set_interval(&perf->events, interval);
                return;
        }
        perf->settings.interval = interval;
        perf_own_detach(&perf->own);
        if (perf_own_attach(&perf->own, &perf->events, &perf->settings, &error) != 0)
                log_warning("sampling has ended: %s", error ?: "out of resources");
        perf_own_enable(&perf->own);
}

/* Viewers read the interval from the trace, so a new one is written there. */
static void look_at_cost(PerfProbe *perf, uint64_t now_ns) {
        const uint64_t interval =
                perf->settings.is_frequency
                        ? perf_cost_look(&perf->cost, perf->sampler.writer.interval, now_ns)
                        : perf_cost_look_at_period(
                                  &perf->cost, perf->sampler.writer.interval, now_ns);

        if (interval != perf->sampler.writer.interval)
                set_interval(perf, interval);
}

/* Until /proc is read, samples stay in the rings, unless it takes too long. */
static bool is_scanning(PerfProbe *perf, uint64_t now_ns) {
        if (perf->is_scanned)
                return false;
        perf->is_scanned = !perf_sampler_collect(&perf->sampler) ||
                           now_ns - perf->started_ns > SCAN_WAIT_NS ||
                           perf_events_fill(&perf->events) > SCAN_FILL_PERCENT;
        return !perf->is_scanned;
}

static uint64_t perf_poll(void *userdata, uint64_t now_ns) {
        PerfProbe *perf = userdata;

        if (!perf->recording)
                return PROBE_NEVER;
        if (is_scanning(perf, now_ns))
                return now_ns + SCAN_PERIOD_NS;
        drain(perf);
        look_at_cost(perf, now_ns);
        return probe_next_on_grid(now_ns, perf->settings.period_ns);
}

static int perf_fd(void *userdata) {
        PerfProbe *perf = userdata;

        return perf->events.poll_fd;
}

/* Afterwards everything until now is in the trace. */
static void drain_all(PerfProbe *perf) {
        const uint64_t now_ns = perf->settings.is_off_cpu ? clock_now_ns(perf->settings.clock) : 0;

        drain(perf);
        perf_sampler_cut(&perf->sampler, now_ns);
        perf_sampler_settle(&perf->sampler);
}

static void perf_flush(void *userdata, uint64_t now_ns) {
        drain_all(userdata);
}

static void log_counts(const PerfProbe *perf) {
        const PerfCounts *counts = &perf->sampler.counts;

        log_info("%" PRIu64 " samples, %" PRIu64 " of %" PRIu64 " stacks complete, %" PRIu64
                 " of them by instructions, %" PRIu64 " records lost, %zu files, %" PRIu64
                 " of them cannot be read",
                 counts->n_samples,
                 counts->n_complete,
                 counts->n_stacks,
                 counts->n_by_code,
                 counts->n_lost,
                 perf->sampler.code.n_files,
                 perf->sampler.code.n_opaque);
}

static void perf_stop(void *userdata, uint64_t now_ns) {
        PerfProbe *perf = userdata;

        perf_events_disable(&perf->events);
        perf_own_disable(&perf->own);
        perf->recording = false;
        drain_all(perf);
        log_counts(perf);
}

static void perf_clear(void *userdata) {
        PerfProbe *perf = userdata;

        perf_sampler_clear(&perf->sampler);
}

const ProbeOps perf_probe_ops = {
        .name = "linux.perf",
        .packet_fields = (const uint32_t[]){ PACKET_PERF_SAMPLE, PACKET_STACK_SAMPLE, 0 },
        .records =
                "what processors run: call stacks of all programs and of the kernel, many times a "
                "second or when something happens",
        .reads = "perf_event_open(), /proc/PID/maps, the programs' files, /tmp/perf-PID.map",
        .needs = "CAP_PERFMON, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_SYSLOG",
        .refuses =
                "the kernel allows no sampling: give the probes CAP_PERFMON; the processor is not "
                "x86-64: use perf",
        .check = perf_events_check,
        .setup = machine_setup,
        .start = perf_start,
        .poll = perf_poll,
        .fd = perf_fd,
        .flush = perf_flush,
        .stop = perf_stop,
        .clear_incremental_state = perf_clear,
        .free = perf_free,
};

#define OWN_RECORDS                                                                         \
        "what a user's own programs run, and where they sleep: call stacks without frames " \
        "of the kernel, many times a second or when something happens"
#define OWN_READS "perf_event_open(), /proc/PID/maps, the programs' files, /tmp/perf-PID.map"

static const uint32_t own_fields[] = { PACKET_PERF_SAMPLE,
                                       PACKET_STACK_SAMPLE,
                                       PACKET_PROCESS_TREE,
                                       0 };

const ProbeOps own_stacks_probe_ops = {
        .name = "cpu.stacks",
        .packet_fields = own_fields,
        .records = OWN_RECORDS,
        .reads = OWN_READS,
        .refuses = "with --standalone the kernel lets no user sample: sysctl "
                   "kernel.perf_event_paranoid=2, or record through the service; the processor is "
                   "not x86-64: use perf",
        .check = perf_own_check,
        .setup = own_setup,
        .start = perf_start,
        .poll = perf_poll,
        .fd = perf_fd,
        .flush = perf_flush,
        .stop = perf_stop,
        .clear_incremental_state = perf_clear,
        .free = perf_free,
};

const ProbeOps owners_stacks_probe_ops = {
        .name = "cpu.stacks",
        .packet_fields = own_fields,
        .records = OWN_RECORDS,
        .reads = OWN_READS,
        .needs = "CAP_PERFMON, CAP_SETUID, CAP_SETGID",
        .refuses = "the kernel allows no sampling: give the probes CAP_PERFMON; the processor is "
                   "not x86-64: use perf",
        .check = perf_events_check,
        .setup = owners_setup,
        .start = perf_start,
        .poll = perf_poll,
        .fd = perf_fd,
        .flush = perf_flush,
        .stop = perf_stop,
        .clear_incremental_state = perf_clear,
        .free = perf_free,
};
