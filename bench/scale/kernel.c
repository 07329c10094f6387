/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Kernel: context switches as a load, what the load costs alone, and how many switches are in a trace */

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "probes/ftrace/cpu-stats.h"
#include "probes/ftrace/ftrace-settings.h"
#include "probes/ftrace/instance.h"
#include "scale.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "wire/wire-reader.h"

#define FLOOR_CPUS_MAX  256
#define FLOOR_BUFFER_KB "16384"
#define REGISTER_TRIES  500
#define REGISTER_MS     10
#define NS_PER_SEC      UINT64_C(1000000000)

/* Field numbers of perfetto.protos messages. */
enum {
        TRACE_PACKET = 1,
        PACKET_FTRACE_EVENTS = 1,
        PACKET_FTRACE_STATS = 34,
        BUNDLE_EVENT = 2,
        BUNDLE_LOST_EVENTS = 3,
        BUNDLE_COMPACT = 4,
        COMPACT_SWITCH_TIMESTAMP = 1,
        COMPACT_WAKING_TIMESTAMP = 7,
        STATS_PHASE = 1,
        STATS_CPU = 2,
        STATS_PHASE_END = 2,
        CPU_STATS_READ_EVENTS = 9,
        CPU_STATS_OVERRUN = 3,
};

const char *kernel_why_not(void) {
        if (geteuid() != 0)
                return "kernel events need root";
        return tracefs_tracing_dir() ? NULL : "no tracefs";
}

/*
 * The load
 */

static _Atomic uint32_t turn;

static void *take_turns(void *userdata) {
        uint32_t me = *(uint32_t *)userdata;

        for (;;) {
                while (turn != me)
                        syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !me, NULL, NULL, 0);
                turn = !me;
                syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        }
        return NULL;
}

static void *yield_turns(void *userdata) {
        for (;;)
                sched_yield();
        return NULL;
}

_Noreturn static void run_load(KernelLoad load) {
        void *(*const run)(void *) = load == LOAD_FUTEX ? take_turns : yield_turns;
        uint32_t first = 0, second = 1;
        pthread_t thread;
        cpu_set_t cpus;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        CPU_ZERO(&cpus);
        CPU_SET(0, &cpus);
        sched_setaffinity(0, sizeof(cpus), &cpus);
        if (pthread_create(&thread, NULL, run, &second) == 0)
                run(&first);
        _exit(EXIT_FAILURE);
}

pid_t kernel_load_start(KernelLoad load) {
        pid_t pid = fork();

        if (pid < 0)
                die("cannot fork", -errno);
        if (pid == 0)
                run_load(load);
        return pid;
}

void kernel_load_end(pid_t pid) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}

/*
 * The probes
 */

static void wait_for_producer(World *world) {
        uint32_t n = 0;

        for (unsigned i = 0; i < REGISTER_TRIES && n == 0; i++) {
                int r = sd_bus_get_property_trivial(world->bus,
                                                    TRACING_BUS_NAME,
                                                    TRACING_PATH,
                                                    TRACING_MANAGER_INTERFACE,
                                                    "NumProducers",
                                                    NULL,
                                                    'u',
                                                    &n);

                if (r < 0)
                        die("cannot ask for the producers", r);
                sleep_ms(REGISTER_MS);
        }
        if (n == 0)
                die("the probes do not register", 0);
}

pid_t kernel_probes_start(World *world) {
        char path[4096];
        pid_t pid;

        world_program_path(path, "DESKTRACE_PROBES", "../../src/probes/desktrace-probes");
        pid = fork();
        if (pid < 0)
                die("cannot fork", -errno);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGTERM);
                world_set_environment(world);
                execl(path, path, world->on_bus ? "--user" : "--standalone", (char *)NULL);
                _exit(EXIT_FAILURE);
        }
        wait_for_producer(world);
        return pid;
}

void kernel_probes_end(pid_t pid) {
        kill(pid, SIGTERM);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}

/*
 * The floor
 */

typedef struct Floor {
        Instance *instance;
        int fds[FLOOR_CPUS_MAX];
        unsigned n_cpus;
        uint8_t *page;
        size_t n_page;
} Floor;

static void floor_write(Floor *floor, const char *file, const char *value) {
        _cleanup_(freep) char *error = NULL;

        if (instance_write(floor->instance, file, value, &error) != 0)
                die(error ?: file, 0);
}

static void floor_init(Floor *floor, const char *const *events, unsigned page_kib) {
        _cleanup_(trace_dir_freep) TraceDir *dir = NULL;
        _cleanup_(freep) char *error = NULL;
        char file[256];

        page_kib = page_kib > 0 ? page_kib : FTRACE_SUBBUFFER_KB;
        *floor = (Floor){ .n_page = (size_t)page_kib * 1024 };
        if (trace_dir_new(&dir, &error) != 0 ||
            instance_new(&floor->instance, dir, NULL, &error) != 0)
                die(error ?: "no tracefs instance", 0);
        floor_write(floor, "trace_clock", "boot");
        snprintf(file, sizeof(file), "%u", page_kib);
        floor_write(floor, "buffer_subbuf_size_kb", file);
        floor_write(floor, "buffer_size_kb", FLOOR_BUFFER_KB);
        for (; *events; events++) {
                snprintf(file, sizeof(file), "events/%s/enable", *events);
                floor_write(floor, file, "1");
        }
        floor->n_cpus = MIN((unsigned)sysconf(_SC_NPROCESSORS_CONF), (unsigned)FLOOR_CPUS_MAX);
        for (unsigned i = 0; i < floor->n_cpus; i++)
                floor->fds[i] = instance_open_pages(floor->instance, i);
        floor->page = malloc(floor->n_page);
}

static void floor_deinit(Floor *floor) {
        for (unsigned i = 0; i < floor->n_cpus; i++)
                fd_close(floor->fds[i]);
        instance_free(floor->instance);
        free(floor->page);
}

/* Whether the writer was at work on the page that was read: then what follows are a few events at a time, which cost
 * most, and as the probes do nobody runs after a writer that is as fast. */
static bool floor_has_caught_up(const Floor *floor) {
        uint64_t commit;

        memcpy(&commit, floor->page + 8, sizeof(commit));
        return (commit & ((1u << 27) - 1)) < floor->n_page / 2;
}

static void floor_drain(Floor *floor) {
        for (unsigned i = 0; i < floor->n_cpus; i++)
                while (floor->fds[i] >= 0 && read(floor->fds[i], floor->page, floor->n_page) > 0)
                        if (floor_has_caught_up(floor))
                                break;
}

static uint64_t floor_count(Floor *floor) {
        uint64_t n = 0;

        for (unsigned i = 0; i < floor->n_cpus; i++) {
                _cleanup_(freep) char *text = NULL;
                char file[64];
                CpuStats stats;

                snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", i);
                if (instance_read(floor->instance, file, &text, NULL, NULL) != 0)
                        continue;
                cpu_stats_parse(&stats, i, text);
                n += stats.read_events;
        }
        return n;
}

static uint64_t thread_cpu_ns(void) {
        struct timespec used;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
}

double kernel_floor_ms(unsigned duration_ms,
                       KernelLoad load,
                       const char *const *events,
                       unsigned page_kib) {
        uint64_t cpu_ns, n;
        Floor floor;
        pid_t pid;

        floor_init(&floor, events, page_kib);
        floor_write(&floor, "tracing_on", "1");
        pid = kernel_load_start(load);
        cpu_ns = thread_cpu_ns();
        for (unsigned i = 0; i < duration_ms; i += FTRACE_DRAIN_MS) {
                sleep_ms(FTRACE_DRAIN_MS);
                floor_drain(&floor);
        }
        cpu_ns = thread_cpu_ns() - cpu_ns;
        kernel_load_end(pid);
        n = floor_count(&floor);
        floor_deinit(&floor);
        if (n == 0)
                die("no event was recorded", 0);
        return (double)cpu_ns / (double)n;
}

/*
 * What is in a trace
 */

static uint64_t count_varints(const WireField *packed) {
        uint64_t n = 0;

        for (size_t i = 0; i < packed->n_bytes; i++)
                n += !(packed->data[i] & 0x80);
        return n;
}

static uint64_t count_compact(const WireField *compact) {
        WireReader reader;
        WireField field;
        uint64_t n = 0;

        wire_reader_init_field(&reader, compact);
        while (wire_read(&reader, &field) > 0)
                if (field.number == COMPACT_SWITCH_TIMESTAMP ||
                    field.number == COMPACT_WAKING_TIMESTAMP)
                        n += count_varints(&field);
        return n;
}

static void count_bundle(KernelCount *count, const WireField *bundle) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, bundle);
        while (wire_read(&reader, &field) > 0) {
                count->n_events += field.number == BUNDLE_EVENT;
                count->n_losses += field.number == BUNDLE_LOST_EVENTS;
                if (field.number == BUNDLE_COMPACT)
                        count->n_events += count_compact(&field);
        }
}

/* What the kernel gave out and what it overwrote. */
static uint64_t count_stats(const WireField *stats, uint64_t *ret_phase) {
        WireReader reader, cpu_reader;
        WireField field, value;
        uint64_t n = 0;

        wire_reader_init_field(&reader, stats);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == STATS_PHASE)
                        *ret_phase = field.value;
                if (field.number != STATS_CPU)
                        continue;
                wire_reader_init_field(&cpu_reader, &field);
                while (wire_read(&cpu_reader, &value) > 0)
                        if (value.number == CPU_STATS_READ_EVENTS ||
                            value.number == CPU_STATS_OVERRUN)
                                n += value.value;
        }
        return n;
}

static void count_packet(KernelCount *count, const WireField *packet, uint64_t phases[static 3]) {
        WireReader reader;
        WireField field;
        uint64_t phase = 0, n;

        wire_reader_init_field(&reader, packet);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == PACKET_FTRACE_EVENTS)
                        count_bundle(count, &field);
                if (field.number != PACKET_FTRACE_STATS)
                        continue;
                n = count_stats(&field, &phase);
                if (phase <= STATS_PHASE_END)
                        phases[phase] = n;
        }
}

void kernel_count(KernelCount *ret, int fd) {
        uint64_t n_bytes = file_bytes(fd), phases[3] = {};
        WireReader reader;
        WireField field;
        void *data;

        *ret = (KernelCount){};
        data = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED)
                die("cannot read the trace", -errno);
        wire_reader_init(&reader, data, n_bytes);
        while (wire_read(&reader, &field) > 0)
                if (field.number == TRACE_PACKET)
                        count_packet(ret, &field, phases);
        munmap(data, n_bytes);
        ret->n_recorded = phases[STATS_PHASE_END] - phases[1];
}
