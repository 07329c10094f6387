/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Perf events: a sampling event on each processor, with its ring */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "probes/perf/perf-events.h"
#include "shared/fd.h"

#define CPUS_MAX       4096u
#define CPU_LIST_BYTES (64u << 10)
#define RING_DEFAULT   (512u << 10) /* without stacks */
#define RING_MIN       (256u << 10)
#define RING_NS_MIN    (120 * PROBE_NS_PER_MS)
#define NS_PER_S       UINT64_C(1000000000)

int perf_event_open(struct perf_event_attr *attr, pid_t tid, int cpu) {
        int fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

bool perf_events_can_walk(void) {
        struct utsname name;

        return uname(&name) == 0 && streq(name.machine, "x86_64") && sizeof(void *) == 8;
}

int perf_events_check(char **ret_error) {
        struct perf_event_attr attr = {
                .size = sizeof(attr),
                .type = PERF_TYPE_SOFTWARE,
                .config = PERF_COUNT_SW_DUMMY,
                .disabled = 1,
        };
        int fd;

        if (!perf_events_can_walk())
                return probe_refuse(ret_error,
                                    "call stacks are recorded on x86-64 only; on other machines "
                                    "use perf");
        fd = perf_event_open(&attr, -1, 0);
        if (fd >= 0) {
                close(fd);
                return 0;
        }
        if (fd == -ENOSYS)
                return probe_refuse(ret_error,
                                    "this kernel has no perf_event_open(): it needs "
                                    "CONFIG_PERF_EVENTS");
        return probe_refuse(ret_error,
                            "the kernel does not let the probes sample the machine (%s): they "
                            "need CAP_PERFMON, and a sandbox must allow perf_event_open",
                            strerror(-fd));
}

/*
 * Processors
 */

/* "0-3,8": the processors that run. */
static int read_online(uint32_t **ret, size_t *ret_n) {
        _cleanup_(freep) char *text = NULL;
        uint32_t *cpus;
        char *at;
        int r;

        r = fd_read_file(&text, NULL, AT_FDCWD, "/sys/devices/system/cpu/online", CPU_LIST_BYTES);
        if (r < 0)
                return r;
        cpus = calloc(CPUS_MAX, sizeof(*cpus));
        if (!cpus)
                return -ENOMEM;
        for (at = text; *at >= '0' && *at <= '9' && *ret_n < CPUS_MAX; at += *at == ',') {
                unsigned long first = strtoul(at, &at, 10);
                const unsigned long last = *at == '-' ? strtoul(at + 1, &at, 10) : first;

                for (; first <= last && *ret_n < CPUS_MAX; first++)
                        cpus[(*ret_n)++] = (uint32_t)first;
        }
        *ret = cpus;
        return 0;
}

static bool is_wanted(const PerfSettings *settings, uint32_t cpu) {
        for (size_t i = 0; i < settings->n_cpus; i++)
                if (settings->cpus[i] == cpu)
                        return true;
        return settings->n_cpus == 0;
}

/*
 * Opening
 */

static bool is_processors(const PerfSettings *settings) {
        return !settings->is_software && !settings->is_off_cpu;
}

static struct perf_event_attr attr_of(const PerfSettings *settings) {
        struct perf_event_attr attr = {
                .size = sizeof(attr),
                .type = settings->type,
                .config = settings->config,
                .config1 = settings->config1,
                .config2 = settings->config2,
                .freq = settings->is_frequency,
                .sample_freq = settings->interval,
                .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                .disabled = 1,
                .sample_id_all = 1,
                .mmap = 1,
                .mmap2 = 1,
                .comm = 1,
                .comm_exec = 1,
                .task = 1,
                .context_switch = settings->is_off_cpu,
                .watermark = 1,
                .use_clockid = 1,
                .clockid = settings->clock,
                .exclude_callchain_user = !settings->kernel_walks,
                .exclude_callchain_kernel = !settings->wants_kernel_frames,
                .exclude_kernel =
                        settings->is_own || (settings->has_owner && is_processors(settings)),
                .exclude_hv = settings->is_own,
        };

        if (settings->wants_kernel_frames || settings->kernel_walks)
                attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
        if (settings->wants_user_frames && !settings->kernel_walks) {
                attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
                attr.sample_regs_user = PERF_REGISTERS_MASK;
                attr.sample_stack_user = settings->stack_bytes;
        }
        return attr;
}

/* Each sample takes the room of a whole stack in the ring, however small its stack is. The ring has room for three
 * periods of reading, as the reader may be late on a busy machine. The kernel takes its time to make a larger one. */
static size_t ring_bytes(const PerfSettings *settings, bool has_stack, size_t n_cpus) {
        size_t n = RING_DEFAULT;
        uint64_t wanted;

        if (settings->n_ring_bytes > 0)
                return settings->n_ring_bytes;
        if (has_stack) {
                const uint64_t frequency = settings->is_frequency ? settings->interval : 1000;

                wanted = MAX(3 * settings->period_ns, RING_NS_MIN);
                wanted = frequency * wanted / NS_PER_S * PERF_RECORD_BYTES_MAX;
                for (n = RING_MIN; n < wanted && n < PERF_RING_BYTES_MAX; n *= 2)
                        ;
        }
        while (n > RING_MIN && n * n_cpus > PERF_RINGS_BYTES_MAX)
                n /= 2;
        return n;
}

/* Rings that are smaller than wanted are read more often: two thirds of a ring are for the time in which we are not let
 * run. */
static void fit_period(PerfSettings *settings, size_t n_ring_bytes) {
        uint64_t period_ns;

        if (settings->has_period || !settings->is_frequency)
                return;
        period_ns = n_ring_bytes / PERF_RECORD_BYTES_MAX * NS_PER_S / settings->interval / 3;
        period_ns = MAX(period_ns, PERF_SHORT_PERIOD_MS * PROBE_NS_PER_MS);
        settings->period_ns = MIN(settings->period_ns, period_ns);
}

/* A processor's ring, into which the events of threads write. Its own event counts nothing, and belongs to a thread
 * that stays. */
static void make_dummy(struct perf_event_attr *attr) {
        attr->type = PERF_TYPE_SOFTWARE;
        attr->config = PERF_COUNT_SW_DUMMY;
        attr->config1 = attr->config2 = 0;
        attr->freq = 0;
        attr->sample_period = 0;
        attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = 0;
        attr->context_switch = 0;
}

static int open_ring(PerfEvents *events,
                     PerfRing *ring,
                     const PerfSettings *settings,
                     uint32_t cpu,
                     size_t n_bytes) {
        struct perf_event_attr attr = attr_of(settings);
        struct epoll_event readable = { .events = EPOLLIN };
        int fd, r;

        attr.wakeup_watermark = (uint32_t)(n_bytes / 2);
        if (settings->is_own)
                make_dummy(&attr);
        fd = perf_event_open(&attr, settings->is_own ? 0 : -1, (int)cpu);
        if (fd < 0)
                return fd;
        r = perf_ring_map(ring, fd, cpu, n_bytes);
        if (r < 0)
                return r;
        if (settings->filter && !settings->is_own &&
            ioctl(fd, PERF_EVENT_IOC_SET_FILTER, settings->filter) < 0)
                return -errno;
        if (!perf_settings_read_in_time(settings, n_bytes) &&
            epoll_ctl(events->poll_fd, EPOLL_CTL_ADD, fd, &readable) < 0)
                return -errno;
        return 0;
}

static int open_rings(PerfEvents *events,
                      const PerfSettings *settings,
                      const uint32_t *cpus,
                      size_t n_cpus,
                      size_t n_bytes) {
        int r;

        for (size_t i = 0; i < n_cpus; i++) {
                if (!is_wanted(settings, cpus[i]))
                        continue;
                perf_ring_init(&events->rings[events->n_rings]);
                r = open_ring(events, &events->rings[events->n_rings], settings, cpus[i], n_bytes);
                events->n_rings++;
                if (r < 0)
                        return r;
        }
        return 0;
}

static void close_rings(PerfEvents *events) {
        for (size_t i = 0; i < events->n_rings; i++)
                perf_ring_deinit(&events->rings[i]);
        events->n_rings = 0;
}

/* Rings count as locked memory, of which a container may have little; in that case they are as large as allowed. */
static int open_rings_that_fit(PerfEvents *events,
                               PerfSettings *settings,
                               const uint32_t *cpus,
                               size_t n_cpus) {
        size_t n_bytes = ring_bytes(settings, events->layout.has_stack, n_cpus);
        int r;

        r = open_rings(events, settings, cpus, n_cpus, n_bytes);
        while (r == -EPERM && n_bytes > RING_MIN) {
                close_rings(events);
                n_bytes /= 2;
                r = open_rings(events, settings, cpus, n_cpus, n_bytes);
        }
        if (r == 0 && events->layout.has_stack)
                fit_period(settings, n_bytes);
        return r;
}

int perf_events_open_thread(const PerfEvents *events,
                            size_t ring,
                            const PerfSettings *settings,
                            pid_t tid) {
        struct perf_event_attr attr = attr_of(settings);
        _cleanup_(fd_closep) int fd = -1;

        attr.inherit = 1;
        fd = perf_event_open(&attr, tid, (int)events->rings[ring].cpu);
        if (fd < 0)
                return fd;
        if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, events->rings[ring].fd) < 0)
                return -errno;
        if (settings->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, settings->filter) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int perf_events_refuse(const PerfSettings *settings, int error, char **ret_error) {
        if (settings->is_own && (error == -EPERM || error == -EACCES))
                return probe_refuse(ret_error,
                                    "the kernel does not allow this event (%s): users' own events "
                                    "need kernel.perf_event_paranoid=2 or less, and large rings a "
                                    "higher limit of locked memory (ulimit -l)",
                                    strerror(-error));
        if (error == -EPERM || error == -EACCES)
                return probe_refuse(
                        ret_error,
                        "the kernel does not allow this event (%s): the probes need "
                        "CAP_PERFMON, and CAP_IPC_LOCK or LimitMEMLOCK= for large rings",
                        strerror(-error));
        if (settings->filter && error == -EINVAL)
                return probe_refuse(ret_error,
                                    "the kernel does not take the filter \"%s\", or the event",
                                    settings->filter);
        if (error == -EINVAL)
                return probe_refuse(ret_error,
                                    "the kernel does not take the event at this rate or with this "
                                    "clock: see kernel.perf_event_max_sample_rate");
        if (error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV)
                return probe_refuse(ret_error, "this machine cannot count that event");
        return error;
}

static bool lacks_counter(const PerfSettings *settings, int error) {
        return settings->type == PERF_TYPE_HARDWARE &&
               (error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV);
}

/* Checks that these events can be counted; rings for the events of threads count nothing. */
static int try_on_thread(const PerfSettings *settings) {
        struct perf_event_attr attr = attr_of(settings);
        int fd;

        attr.sample_type = PERF_SAMPLE_TID;
        fd = perf_event_open(&attr, 0, -1);
        if (fd < 0)
                return fd;
        close(fd);
        return 0;
}

static int open_what_is_there(PerfEvents *events,
                              PerfSettings *settings,
                              const uint32_t *cpus,
                              size_t n_cpus) {
        const int r = settings->is_own ? try_on_thread(settings) : 0;

        return r < 0 ? r : open_rings_that_fit(events, settings, cpus, n_cpus);
}

static int
open_all(PerfEvents *events, PerfSettings *settings, bool *ret_uses_clock, char **ret_error) {
        _cleanup_(freep) uint32_t *cpus = NULL;
        size_t n_cpus = 0;
        int r;

        r = read_online(&cpus, &n_cpus);
        if (r < 0)
                return r;
        events->rings = calloc(n_cpus + 1, sizeof(*events->rings));
        events->poll_fd = epoll_create1(EPOLL_CLOEXEC);
        if (!events->rings || events->poll_fd < 0)
                return events->rings ? -errno : -ENOMEM;
        r = open_what_is_there(events, settings, cpus, n_cpus);
        if (r < 0 && lacks_counter(settings, r)) {
                close_rings(events);
                perf_settings_use_clock(settings);
                *ret_uses_clock = true;
                r = open_what_is_there(events, settings, cpus, n_cpus);
        }
        if (r < 0)
                return perf_events_refuse(settings, r, ret_error);
        if (events->n_rings == 0)
                return probe_refuse(ret_error, "target_cpu has no processor that is online");
        return 0;
}

int perf_events_open(PerfEvents *ret,
                     PerfSettings *settings,
                     bool *ret_uses_clock,
                     char **ret_error) {
        int r;

        *ret_uses_clock = false;
        *ret = (PerfEvents){
                .poll_fd = -1,
                .layout = {
                        .has_chain = settings->wants_kernel_frames || settings->kernel_walks,
                        .has_stack = settings->wants_user_frames && !settings->kernel_walks,
                },
        };
        r = open_all(ret, settings, ret_uses_clock, ret_error);
        if (r != 0)
                perf_events_deinit(ret);
        return r;
}

void perf_events_deinit(PerfEvents *events) {
        close_rings(events);
        free(events->rings);
        events->rings = NULL;
        events->poll_fd = fd_close(events->poll_fd);
}

int perf_events_enable(PerfEvents *events) {
        for (size_t i = 0; i < events->n_rings; i++)
                if (ioctl(events->rings[i].fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
                        return -errno;
        return 0;
}

void perf_events_disable(PerfEvents *events) {
        for (size_t i = 0; i < events->n_rings; i++)
                (void)ioctl(events->rings[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void perf_events_set_interval(PerfEvents *events, uint64_t interval) {
        for (size_t i = 0; i < events->n_rings; i++)
                (void)ioctl(events->rings[i].fd, PERF_EVENT_IOC_PERIOD, &interval);
}

/*
 * Reading
 */

void perf_events_begin(PerfEvents *events) {
        for (size_t i = 0; i < events->n_rings; i++)
                perf_ring_begin(&events->rings[i]);
}

PerfRing *perf_events_oldest(PerfEvents *events) {
        PerfRing *oldest = NULL;

        for (size_t i = 0; i < events->n_rings; i++) {
                PerfRing *ring = &events->rings[i];

                if (ring->n_record > 0 && (!oldest || ring->record_ns < oldest->record_ns))
                        oldest = ring;
        }
        return oldest;
}

unsigned perf_events_fill(const PerfEvents *events) {
        unsigned fullest = 0;

        for (size_t i = 0; i < events->n_rings; i++)
                fullest = MAX(fullest, perf_ring_fill(&events->rings[i]));
        return fullest;
}

void perf_events_end(PerfEvents *events) {
        for (size_t i = 0; i < events->n_rings; i++)
                perf_ring_end(&events->rings[i]);
}

static bool is_change(const uint8_t *start, size_t n_bytes, const void *userdata) {
        const uint32_t pid = (uint32_t) * (const pid_t *)userdata;
        struct perf_event_header header;
        uint32_t numbers
                [4] = {}; /* process and thread; of a task the process, its parent, the thread, that of the parent */

        memcpy(&header, start, sizeof(header));
        memcpy(numbers, start + sizeof(header), MIN(n_bytes - sizeof(header), sizeof(numbers)));
        switch (header.type) {
        case PERF_RECORD_LOST:
                return true;
        case PERF_RECORD_COMM:
                return numbers[0] == pid && (header.misc & PERF_RECORD_MISC_COMM_EXEC);
        case PERF_RECORD_FORK:
                return numbers[0] == pid && numbers[1] != pid;
        case PERF_RECORD_EXIT:
                return numbers[0] == pid && numbers[2] == pid;
        default:
                return false;
        }
}

bool perf_events_foresee_change(const PerfEvents *events, pid_t pid) {
        for (size_t i = 0; i < events->n_rings; i++)
                if (perf_ring_has(&events->rings[i], is_change, &pid))
                        return true;
        return false;
}
