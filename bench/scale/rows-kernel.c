/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Kernel events: what the probes and the service need for them, beside a program that only reads the same pages, and
 * one that reads pages of 4 KiB, as instances have them. Runs of all take turns. The load has CPU 0 for itself; what is
 * measured runs where the scheduler puts it.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probes/ftrace/trace-dir.h"
#include "scale.h"
#include "shared/fd.h"

#define RING_KIB          16384
#define PERIOD_MS         200
#define N_SESSIONS        5
#define SOURCES_BYTES_MAX (16u << 10)

typedef struct KernelRun {
        double probes_ms, service_ms; /* of CPU for a million events in the trace */
        double bytes;                 /* of an event in the file */
        double rate;                  /* thousands of events a second */
        double n_lost;
} KernelRun;

static const char sources_format[] =
        "data_sources { config { name: \"linux.ftrace\" ftrace_config { %s\n"
        "  buffer_size_kb: 16384 drain_period_ms: 100 } } }";

static void start_sessions(World *world,
                           Recording *recordings,
                           int *fds,
                           unsigned n_sessions,
                           const char *const *events) {
        char sources[1024], names[512] = "";

        for (; *events; events++)
                snprintf(names + strlen(names),
                         sizeof(names) - strlen(names),
                         " ftrace_events: \"%s\"",
                         *events);
        snprintf(sources, sizeof(sources), sources_format, names);
        for (unsigned i = 0; i < n_sessions; i++) {
                fds[i] = file_new(world);
                recording_start(&recordings[i],
                                world,
                                &(RecordingOptions){
                                        .sources = sources,
                                        .buffer_kib = RING_KIB,
                                        .output_fd = fds[i],
                                        .period_ms = PERIOD_MS,
                                });
        }
}

static KernelRun run_once(World *world,
                          pid_t probes,
                          unsigned n_sessions,
                          KernelLoad load,
                          const char *const *events,
                          unsigned duration_ms) {
        uint64_t probes_ns, service_ns, begin_ns, n_bytes = 0;
        Recording recordings[N_SESSIONS];
        KernelCount count, all = {};
        int fds[N_SESSIONS];
        pid_t pid;

        start_sessions(world, recordings, fds, n_sessions, events);
        probes_ns = process_cpu_ns(probes);
        service_ns = process_cpu_ns(world->service);
        begin_ns = now_ns();
        pid = kernel_load_start(load);
        sleep_ms(duration_ms);
        kernel_load_end(pid);
        begin_ns = now_ns() - begin_ns;
        for (unsigned i = 0; i < n_sessions; i++)
                recording_stop(&recordings[i]);
        probes_ns = process_cpu_ns(probes) - probes_ns;
        service_ns = process_cpu_ns(world->service) - service_ns;
        for (unsigned i = 0; i < n_sessions; i++) {
                kernel_count(&count, fds[i]);
                recording_free(&recordings[i]);
                n_bytes += file_bytes(fds[i]);
                all.n_events += count.n_events;
                all.n_recorded += count.n_recorded;
                all.n_losses += count.n_losses;
                fd_close(fds[i]);
        }
        return (KernelRun){
                .probes_ms = (double)probes_ns / (double)all.n_events * n_sessions,
                .service_ms = (double)service_ns / (double)all.n_events * n_sessions,
                .bytes = (double)n_bytes / (double)all.n_events,
                .rate = (double)all.n_events / n_sessions / ((double)begin_ns / 1e6),
                .n_lost = all.n_events >= all.n_recorded ? (double)all.n_losses
                                                         : (double)(all.n_recorded - all.n_events),
        };
}

static void measure_load(World *world,
                         pid_t probes,
                         const char *name,
                         KernelLoad load,
                         const char *const *events) {
        Samples floor = {}, small = {}, both = {}, ours = {}, service = {};
        Samples bytes = {}, rate = {}, lost = {};
        unsigned duration_ms = world->is_quick ? 300 : 2000;
        unsigned n_runs = world->is_quick ? 1 : 5;
        char what[64];

        for (unsigned i = 0; i < n_runs; i++) {
                KernelRun run;

                samples_add(&floor, kernel_floor_ms(duration_ms, load, events, 0));
                samples_add(&small, kernel_floor_ms(duration_ms, load, events, 4));
                run = run_once(world, probes, 1, load, events, duration_ms);
                samples_add(&both, run.probes_ms + run.service_ms);
                samples_add(&ours, run.probes_ms);
                samples_add(&service, run.service_ms);
                samples_add(&bytes, run.bytes);
                samples_add(&rate, run.rate);
                samples_add(&lost, run.n_lost);
        }
        report_note("%s", name);
        snprintf(what, sizeof(what), "CPU for a million: read() of the pages");
        report(&(Row){ what, "ms", &floor });
        report(&(Row){ "  the same with pages of 4 KiB", "ms", &small, .peer = "17" });
        report(&(Row){ "  probes", "ms", &ours, .peer = "48-52" });
        report(&(Row){ "  service", "ms", &service, .peer = "17-26" });
        report(&(Row){ .what = "  both",
                       .unit = "ms",
                       .samples = &both,
                       .at_most = 2 * samples_median(&floor),
                       .floor = samples_median(&floor),
                       .floor_name = "read()" });
        report(&(Row){ .what = "  both, beside reading pages of 4 KiB",
                       .unit = "ms",
                       .samples = &both,
                       .at_most = 2 * samples_median(&small),
                       .floor = samples_median(&small),
                       .floor_name = "read() of 4 KiB",
                       .peer = "4 x" });
        report(&(Row){ "of an event in the file", "bytes", &bytes, .at_most = 8 });
        report(&(Row){ "events a second", "k", &rate, .at_least = 1000 });
        report(&(Row){ "lost", "events", &lost, .is_zero = true });
}

static void measure_sessions(World *world, pid_t probes) {
        static const char *const events[] = { "sched/sched_switch", NULL };
        unsigned duration_ms = world->is_quick ? 300 : 2000, n_runs = world->is_quick ? 1 : 3;
        Samples one = {}, five = {}, ratio = {}, ours = {};

        for (unsigned i = 0; i < n_runs; i++) {
                KernelRun a = run_once(world, probes, 1, LOAD_YIELD, events, duration_ms);
                KernelRun b = run_once(world, probes, N_SESSIONS, LOAD_YIELD, events, duration_ms);

                samples_add(&one, a.probes_ms + a.service_ms);
                samples_add(&five, b.probes_ms + b.service_ms);
                samples_add(&ours, b.probes_ms / a.probes_ms);
                samples_add(&ratio, (b.probes_ms + b.service_ms) / (a.probes_ms + a.service_ms));
        }
        report_note("five sessions that want the same");
        report(&(Row){ "CPU for a million, one session", "ms", &one });
        report(&(Row){ "CPU for a million, five sessions", "ms", &five });
        report(&(Row){ "  of one", "x", &ratio, .at_most = 1.5, .peer = "5 x (probes)" });
        report(&(Row){ "  of one, the probes alone", "x", &ours, .at_most = 1.5 });
}

/* All groups of the kernel as "group/" and a star. */
static void list_groups(char ret[static SOURCES_BYTES_MAX]) {
        _cleanup_(trace_dir_freep) TraceDir *dir = NULL;
        _cleanup_(freep) char *text = NULL;
        char last[128] = "", group[128];
        size_t n = 0;

        if (trace_dir_new(&dir, NULL) != 0 ||
            trace_dir_read(dir, "available_events", &text, NULL, NULL) != 0)
                die("cannot read available_events", 0);
        ret[0] = '\0';
        for (const char *at = text; *at; at += strcspn(at, "\n") + 1) {
                snprintf(group, sizeof(group), "%.*s", (int)strcspn(at, ":\n"), at);
                if (strcmp(group, last) == 0)
                        continue;
                memcpy(last, group, sizeof(last));
                n += (size_t)snprintf(
                        ret + n, SOURCES_BYTES_MAX - n, " ftrace_events: \"%s/*\"", group);
                if (n >= SOURCES_BYTES_MAX)
                        die("too many groups of events", 0);
        }
}

static const char all_sources[] =
        "data_sources { config { name: \"linux.ftrace\" ftrace_config {\n"
        "  ftrace_events: \"sched/*\" ftrace_events: \"irq/*\" ftrace_events: \"power/*\"\n"
        "  ftrace_events: \"task/*\" ftrace_events: \"block/*\" ftrace_events: \"ftrace/print\"\n"
        "  ftrace_events: \"raw_syscalls/*\" buffer_size_kb: 16384 } } }\n"
        "data_sources { config { name: \"linux.process_stats\" process_stats_config {\n"
        "  scan_all_processes_on_start: true record_thread_names: true proc_stats_poll_ms: 1000 } "
        "} }\n"
        "data_sources { config { name: \"linux.sys_stats\" sys_stats_config {\n"
        "  meminfo_period_ms: 1000 vmstat_period_ms: 1000 stat_period_ms: 1000 } } }\n"
        "data_sources { config { name: \"linux.system_info\" } }\n"
        "data_sources { config { name: \"linux.systemd_journald\" } }\n";

/* From the call to its reply, with all data sources recording. */
static void measure_start(World *world, const char *what, const char *sources) {
        unsigned n_runs = world->is_quick ? 1 : 5;
        Samples start = {}, end = {};
        Recording recording;

        for (unsigned i = 0; i < n_runs; i++) {
                _cleanup_(fd_closep) int fd = file_new(world);
                uint64_t begin_ns = now_ns();

                recording_start(&recording,
                                world,
                                &(RecordingOptions){
                                        .sources = sources,
                                        .buffer_kib = RING_KIB,
                                        .output_fd = fd,
                                        .period_ms = PERIOD_MS,
                                        .partial = true,
                                });
                samples_add(&start, (double)(now_ns() - begin_ns) / 1e6);
                begin_ns = now_ns();
                recording_stop(&recording);
                recording_free(&recording);
                samples_add(&end, (double)(now_ns() - begin_ns) / 1e6);
        }
        report(&(Row){ what, "ms", &start, .at_most = 200 });
        report(&(Row){ "  and to stop", "ms", &end });
}

static void measure_starts(World *world) {
        char groups[SOURCES_BYTES_MAX], sources[SOURCES_BYTES_MAX + sizeof(sources_format)];

        report_note("start");
        measure_start(world, "all sources, 100 kernel events", all_sources);
        list_groups(groups);
        snprintf(sources, sizeof(sources), sources_format, groups);
        measure_start(world, "every event of the kernel", sources);
}

static void measure_idle(World *world, pid_t probes) {
        static const char *const events[] = { "task/task_newtask", "task/task_rename", NULL };
        unsigned duration_ms = world->is_quick ? 500 : 5000;
        uint64_t probes_ns, service_ns, n_probes;
        Samples ours = {}, service = {}, wakeups = {};
        double seconds = duration_ms / 1e3;
        Recording recording;
        int fd;

        start_sessions(world, &recording, &fd, 1, events);
        probes_ns = process_cpu_ns(probes);
        service_ns = process_cpu_ns(world->service);
        n_probes = process_n_wakeups(probes);
        sleep_ms(duration_ms);
        samples_add(&ours, (double)(process_cpu_ns(probes) - probes_ns) / 1e6 / seconds);
        samples_add(&service,
                    (double)(process_cpu_ns(world->service) - service_ns) / 1e6 / seconds);
        samples_add(&wakeups, (double)(process_n_wakeups(probes) - n_probes) / seconds);
        recording_stop(&recording);
        recording_free(&recording);
        fd_close(fd);
        report_note("a ring without events, read every 100 ms");
        report(&(Row){ "CPU of the probes in a second", "ms", &ours });
        report(&(Row){ "CPU of the service in a second", "ms", &service });
        report(&(Row){ "wake-ups of the probes in a second", "", &wakeups });
}

void rows_kernel(World *world) {
        static const char *const switches[] = { "sched/sched_switch", NULL };
        static const char *const wakings[] = { "sched/sched_switch", "sched/sched_waking", NULL };
        pid_t probes;

        if (kernel_why_not()) {
                report_note("not measured: %s", kernel_why_not());
                return;
        }
        probes = kernel_probes_start(world);
        measure_load(world, probes, "sched_switch", LOAD_YIELD, switches);
        measure_load(world, probes, "sched_switch and sched_waking", LOAD_FUTEX, wakings);
        measure_sessions(world, probes);
        measure_starts(world);
        measure_idle(world, probes);
        kernel_probes_end(probes);
}
