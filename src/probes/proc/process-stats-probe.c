/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The data source linux.process_stats. */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "probes/proc/proc-check.h"
#include "probes/proc/process-stats-probe.h"
#include "probes/proc/process-tree.h"
#include "shared/pid-namespace.h"

enum {
        STATS_PROCESS = 1,
        STATS_COLLECTION_END = 2,
        PROCESS_PID = 1,
};

/* Kernel threads have no memory to poll, and are passed over. But another process may have the pid later. */
#define KTHREAD_RECHECK_POLLS 16
#define SCAN_GAP_NS           (2500 * PROBE_NS_PER_MS)

typedef Perfetto__Protos__ProcessStatsConfig ProcessStatsConfig;

typedef struct ProcessStats {
        PacketWriter packets, labels;
        ProcDir proc;
        TaskTable tasks;
        ProcessTree tree;
        SessionLink *link;
        uint64_t poll_period_ns; /* 0: off */
        uint64_t n_cache_polls; /* all counters are written again after this many polls; 0: never */
        bool scan_all, smaps, runtime;
        bool scan_is_due;
        uint64_t next_scan_ns; /* when to scan again at the earliest, for a ring that forgets */
        bool recording; /* from the first poll to the stop: packets may only be written in between */
        uint32_t n_polls;

        WireWriter *wire; /* the current ProcessStats packet, or NULL */
        size_t begin;
} ProcessStats;

static void *process_stats_free(void *userdata) {
        ProcessStats *stats = userdata;

        if (!stats)
                return NULL;
        session_link_unwatch(stats->link, stats);
        session_link_unref(stats->link);
        task_table_deinit(&stats->tasks);
        proc_dir_close(&stats->proc);
        packet_writer_deinit(&stats->packets);
        packet_writer_deinit(&stats->labels);
        free(stats);
        return NULL;
}

static void process_stats_freep(ProcessStats **stats) {
        process_stats_free(*stats);
}

static int compare_pids(const void *a, const void *b) {
        const pid_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* The threads that linux.ftrace met in its last drain. A thread that was renamed often is in the list as often. */
static void resolve_threads(SessionLink *link, void *userdata) {
        ProcessStats *stats = userdata;
        PidSet *pids = &link->pids;

        if (!stats->recording)
                return; /* not yet, so they stay fresh */
        process_tree_begin(&stats->tree, probe_now_ns());
        qsort(pids->fresh, pids->n_fresh, sizeof(*pids->fresh), compare_pids);
        for (size_t i = 0; i < pids->n_fresh; i++)
                if (i == 0 || pids->fresh[i] != pids->fresh[i - 1])
                        process_tree_add_thread(&stats->tree, pids->fresh[i]);
        process_tree_end(&stats->tree);
        pid_set_clear_fresh(pids);
}

/* hidepid= hides process 1 from users who may not inspect all processes. */
static void note_what_is_missing(const ProcessStatsConfig *config,
                                 bool wants_threads,
                                 ProcDir *proc,
                                 ProbeNotes *notes) {
        if (wants_threads && !pid_namespace_is_initial())
                probe_note(notes,
                           "threads of kernel events get no names, because this is a pid namespace "
                           "and the kernel's pids are not those of this /proc: record outside of "
                           "the container");
        if (faccessat(proc->fd, "1/stat", R_OK, 0) < 0)
                probe_note(notes,
                           "processes of other users are hidden by the option hidepid= of /proc: "
                           "record with CAP_SYS_PTRACE, as desktrace-probes.service does");
        if (config->scan_smaps_rollup && faccessat(proc->fd, "1/smaps_rollup", F_OK, 0) < 0)
                probe_note(
                        notes,
                        "scan_smaps_rollup is given, but there is no /proc/PID/smaps_rollup: use a "
                        "kernel of 4.14 or later, with CONFIG_PROC_PAGE_MONITOR");
        else if (config->scan_smaps_rollup && !proc_dir_read(proc, 1, "smaps_rollup", NULL))
                probe_note(notes,
                           "scan_smaps_rollup finds nothing in some processes, as this may not "
                           "look into "
                           "all of them: record with CAP_SYS_PTRACE, as desktrace-probes.service "
                           "does");
        if (config->resolve_process_fds)
                probe_note(notes,
                           "resolve_process_fds is given, but which files are open is not "
                           "recorded: take it out, or use lsof");
        if (config->record_process_dmabuf_rss)
                probe_note(notes,
                           "record_process_dmabuf_rss is given, but only some kernels of Android "
                           "have this counter: take it out");
}

static bool has_quirk(const ProcessStatsConfig *config,
                      Perfetto__Protos__ProcessStatsConfig__Quirks quirk) {
        for (size_t i = 0; i < config->n_quirks; i++)
                if (config->quirks[i] == quirk)
                        return true;
        return false;
}

static void stats_configure(ProcessStats *stats, const ProcessStatsConfig *config) {
        uint32_t poll_ms = config->proc_stats_poll_ms;

        if (poll_ms > 0)
                poll_ms = MAX(poll_ms, (uint32_t)PROCESS_POLL_MS_MIN);
        stats->poll_period_ns = poll_ms * PROBE_NS_PER_MS;
        if (poll_ms > 0 && config->proc_stats_cache_ttl_ms > 0)
                stats->n_cache_polls = MAX(config->proc_stats_cache_ttl_ms / poll_ms, 1u);
        stats->scan_all = config->scan_all_processes_on_start;
        stats->scan_is_due = stats->scan_all;
        stats->smaps = config->scan_smaps_rollup;
        stats->runtime = config->record_process_runtime;
        stats->tree = (ProcessTree){
                .packets = &stats->packets,
                .labels = &stats->labels,
                .proc = &stats->proc,
                .tasks = &stats->tasks,
                .ns_per_tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK),
                .thread_names = config->record_thread_names,
                .skips_main_threads = config->skip_main_thread_message,
        };
}

static int process_stats_setup(void **ret, const ProbeSetup *setup, char **ret_error) {
        static const ProcessStatsConfig defaults = PERFETTO__PROTOS__PROCESS_STATS_CONFIG__INIT;
        const ProcessStatsConfig *config = setup->config->process_stats_config ?: &defaults;
        _cleanup_(process_stats_freep) ProcessStats *stats = NULL;
        bool wants_threads;
        int r;

        stats = calloc(1, sizeof(*stats));
        if (!stats)
                return -ENOMEM;
        stats->proc.fd = -1;
        stats->link = session_link_ref(setup->link);
        packet_writer_init(&stats->packets, setup->sink);
        packet_writer_init(&stats->labels, setup->sink);
        stats_configure(stats, config);
        r = proc_dir_open(&stats->proc, "/proc");
        if (r < 0)
                return probe_refuse(ret_error, "cannot open /proc: %s", strerror(-r));
        wants_threads = !has_quirk(
                config, PERFETTO__PROTOS__PROCESS_STATS_CONFIG__QUIRKS__DISABLE_ON_DEMAND);
        note_what_is_missing(config, wants_threads, &stats->proc, setup->notes);
        if (wants_threads && pid_namespace_is_initial())
                session_link_watch(stats->link, resolve_threads, stats);
        *ret = TAKE(stats);
        return 0;
}

static void scan_all(ProcessStats *stats, uint64_t now_ns) {
        ProcWalk walk;
        pid_t pid;

        process_tree_begin(&stats->tree, now_ns);
        proc_walk_begin(&walk, &stats->proc, 0);
        while ((pid = proc_walk_next(&walk)))
                process_tree_add_with_threads(&stats->tree, pid);
        proc_walk_end(&walk);
        process_tree_end(&stats->tree);
        stats->next_scan_ns = now_ns + SCAN_GAP_NS;
}

static int64_t ticks_ns(const ProcessStats *stats, uint64_t ticks) {
        return (int64_t)(ticks * stats->tree.ns_per_tick);
}

/* Reads the memory and the time of a process. Returns false if it has gone. */
static bool read_counters(ProcessStats *stats, const Task *task, ProcessCounters *ret) {
        const char *text = proc_dir_read(&stats->proc, task->tid, "status", NULL);
        ProcessStatus status;

        if (!text || !process_status_parse(&status, text))
                return false;
        *ret = status.counters;
        text = proc_dir_read(&stats->proc, task->tid, "oom_score_adj", NULL);
        if (text)
                process_counters_set(ret, PROCESS_OOM_SCORE_ADJ, strtol(text, NULL, 10));
        text = stats->smaps ? proc_dir_read(&stats->proc, task->tid, "smaps_rollup", NULL) : NULL;
        if (text)
                process_smaps_parse(ret, text);
        if (stats->runtime) {
                process_counters_set(ret, PROCESS_RUNTIME_USER, ticks_ns(stats, task->user_ticks));
                process_counters_set(
                        ret, PROCESS_RUNTIME_KERNEL, ticks_ns(stats, task->kernel_ticks));
        }
        return true;
}

static void stats_packet_end(ProcessStats *stats) {
        if (!stats->wire)
                return;
        wire_put_uint(stats->wire, STATS_COLLECTION_END, probe_now_ns());
        wire_end(stats->wire, stats->begin);
        stats->wire = NULL;
        /* Only changes are written. So what a dropped packet said must be said again. */
        if (packet_end(&stats->packets) < 0)
                task_table_forget_counters(&stats->tasks);
}

static WireWriter *stats_packet(ProcessStats *stats, uint64_t now_ns) {
        if (stats->wire && wire_writer_size(stats->wire) >= PROCESS_STATS_BYTES_MAX)
                stats_packet_end(stats);
        if (!stats->wire) {
                stats->wire = packet_begin(&stats->packets);
                wire_put_uint(stats->wire, PACKET_TIMESTAMP, now_ns);
                stats->begin = wire_begin(stats->wire, PACKET_PROCESS_STATS);
        }
        return stats->wire;
}

static bool is_changed(const Task *task, const ProcessCounters *now, ProcessCounter i) {
        const ProcessCounters *before = task->counters;

        return now->known & 1u << i &&
               (!(before->known & 1u << i) || before->values[i] != now->values[i]);
}

static void
put_counters(ProcessStats *stats, Task *task, const ProcessCounters *now, uint64_t now_ns) {
        bool any = false;
        WireWriter *wire;
        size_t begin;

        if (!task->counters)
                task->counters = calloc(1, sizeof(*task->counters));
        if (!task->counters)
                return;
        for (ProcessCounter i = 0; i < _PROCESS_COUNTER_N; i++)
                any = any || is_changed(task, now, i);
        if (!any)
                return;
        wire = stats_packet(stats, now_ns);
        begin = wire_begin(wire, STATS_PROCESS);
        wire_put_int(wire, PROCESS_PID, task->tid);
        for (ProcessCounter i = 0; i < _PROCESS_COUNTER_N; i++)
                if (is_changed(task, now, i))
                        wire_put_int(wire, process_counter_field(i), now->values[i]);
        wire_end(wire, begin);
        *task->counters = *now;
}

/* Processes are written to the tree first, because both use the same memory for packets. */
static void poll_tree(ProcessStats *stats, uint64_t now_ns) {
        bool recheck = stats->n_polls % KTHREAD_RECHECK_POLLS == 0;
        ProcWalk walk;
        pid_t pid;

        process_tree_begin(&stats->tree, now_ns);
        proc_walk_begin(&walk, &stats->proc, 0);
        while ((pid = proc_walk_next(&walk))) {
                Task *task = task_table_find(&stats->tasks, pid);

                if (!task || !task->is_kthread || recheck)
                        task = process_tree_add_process(&stats->tree, pid);
                if (task)
                        task->seen = stats->n_polls;
        }
        proc_walk_end(&walk);
        process_tree_end(&stats->tree);
        task_table_prune(&stats->tasks, stats->n_polls);
}

/* For readers, a process that may have begun while the tree was read does not exist yet (start times are in ticks). */
static bool has_counters(const ProcessStats *stats, const Task *task, uint64_t now_ns) {
        return task->tid > 0 && task->tid == task->tgid && !task->is_kthread &&
               (task->start_ticks + 1) * stats->tree.ns_per_tick <= now_ns;
}

static void poll_counters(ProcessStats *stats, uint64_t now_ns) {
        for (size_t i = 0; i < stats->tasks.n_slots; i++) {
                Task *task = &stats->tasks.slots[i];
                ProcessCounters now;

                if (has_counters(stats, task, now_ns) && read_counters(stats, task, &now))
                        put_counters(stats, task, &now, now_ns);
        }
        stats_packet_end(stats);
}

static uint64_t process_stats_poll(void *userdata, uint64_t now_ns) {
        ProcessStats *stats = userdata;

        if (stats->scan_is_due)
                scan_all(stats, now_ns);
        stats->scan_is_due = false;
        if (!stats->recording) {
                stats->recording = true;
                session_link_notify(stats->link); /* the threads that linux.ftrace met before */
        }
        if (stats->poll_period_ns == 0)
                return PROBE_NEVER;
        if (stats->n_cache_polls > 0 && stats->n_polls % stats->n_cache_polls == 0)
                task_table_forget_counters(&stats->tasks);
        stats->n_polls++;
        poll_tree(stats, now_ns);
        poll_counters(stats, now_ns);
        return probe_next_on_grid(now_ns, stats->poll_period_ns);
}

/* Those that were just beginning when they were met may have moved to a unit of their own since. Polls notice this
 * by themselves. */
static void process_stats_flush(void *userdata, uint64_t now_ns) {
        ProcessStats *stats = userdata;

        if (!stats->recording)
                return;
        process_tree_begin(&stats->tree, now_ns);
        for (size_t i = 0; i < stats->tasks.n_slots; i++)
                if (stats->tasks.slots[i].is_young)
                        (void)process_tree_add_process(&stats->tree, stats->tasks.slots[i].tid);
        process_tree_end(&stats->tree);
}

static void process_stats_stop(void *userdata, uint64_t now_ns) {
        ProcessStats *stats = userdata;

        if (stats->poll_period_ns > 0)
                process_stats_poll(stats, now_ns);
        else
                process_stats_flush(stats, now_ns);
        stats->recording = false;
}

/* Forgets everything, to be written again: threads when they are met again, the whole tree only if the tree is not
 * what made the ring turn. */
static void process_stats_clear(void *userdata) {
        ProcessStats *stats = userdata;
        uint64_t now_ns = probe_now_ns();

        task_table_clear(&stats->tasks);
        pid_set_clear(&stats->link->pids);
        stats->tree.says_cleared = true;
        if (stats->recording && stats->scan_all && now_ns >= stats->next_scan_ns)
                scan_all(stats, now_ns);
}

const ProbeOps process_stats_probe_ops = {
        .name = "linux.process_stats",
        .packet_fields =
                (const uint32_t[]){
                        PACKET_PROCESS_TREE,
                        PACKET_PROCESS_STATS,
                        PACKET_PROCESS_DESCRIPTOR,
                        0,
                },
        .records = "names and counters of processes and threads, and to which service, app and "
                   "container they belong",
        .reads = "/proc/PID",
        .needs = "CAP_SYS_PTRACE",
        .refuses = "/proc cannot be opened: mount it",
        .check = process_stats_check,
        .setup = process_stats_setup,
        .poll = process_stats_poll,
        .flush = process_stats_flush,
        .stop = process_stats_stop,
        .clear_incremental_state = process_stats_clear,
        .free = process_stats_free,
};
