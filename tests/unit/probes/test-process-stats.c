/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/packet-list.h"
#include "kernel.h"
#include "probes/proc/process-stats-probe.h"
#include "shared/fd.h"

/* The whole probe, on the machine's own /proc. */
typedef struct Live {
        uint64_t base_ns; /* on the grid of polls, and after all that is there has begun */
        PacketList list;
        ProbeNotes notes;
        List links;
        SessionLink *link;
        void *probe;
} Live;

typedef Perfetto__Protos__ProcessStatsConfig ProcessStatsConfig;

static ProcessStatsConfig live_config(uint32_t poll_ms) {
        ProcessStatsConfig config = PERFETTO__PROTOS__PROCESS_STATS_CONFIG__INIT;

        config.scan_all_processes_on_start = true;
        config.record_thread_names = true;
        config.proc_stats_poll_ms = poll_ms;
        return config;
}

static void live_init_with(Live *live, ProcessStatsConfig process) {
        const uint64_t period_ns = 100 * PROBE_NS_PER_MS;
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = { .config = &config, .notes = &live->notes };
        char *error = NULL;

        *live = (Live){
                .list = PACKET_LIST_INIT,
                .base_ns = probe_next_on_grid(probe_now_ns() + period_ns, period_ns),
        };
        list_init(&live->links);
        ck_assert_int_eq(session_link_get(&live->link, &live->links, 7), 0);
        config.process_stats_config = &process;
        setup.sink = &live->list.sink;
        setup.link = live->link;
        ck_assert_int_eq(process_stats_probe_ops.setup(&live->probe, &setup, &error), 0);
}

static void live_init(Live *live, uint32_t poll_ms) {
        live_init_with(live, live_config(poll_ms));
}

static void live_deinit(Live *live) {
        process_stats_probe_ops.free(live->probe);
        session_link_unref(live->link);
        ck_assert(list_is_empty(&live->links));
        probe_notes_deinit(&live->notes);
        packet_list_deinit(&live->list);
}

static bool live_has_process(Live *live, pid_t pid, size_t *ret_n) {
        WireReader tree, process;
        bool found = false;

        *ret_n = 0;
        for (size_t i = 0; packet_list_find(&live->list, PACKET_PROCESS_TREE, i, &tree); i++)
                for (size_t k = 0; message_submessage(tree, 1, k, &process); k++, (*ret_n)++)
                        found = found || message_uint(process, 1) == (uint64_t)pid;
        return found;
}

/* How many counters of a process there are in packets from `first` on: those of one field, or all (0). */
static size_t live_n_counters_of(Live *live, pid_t pid, size_t first, uint32_t number) {
        WireReader stats, process;
        WireField field;
        size_t n = 0;

        for (size_t i = first; i < live->list.n; i++) {
                if (!packet_list_payload(&live->list, i, PACKET_PROCESS_STATS, &stats))
                        continue;
                for (size_t k = 0; message_submessage(stats, 1, k, &process); k++)
                        if (message_uint(process, 1) == (uint64_t)pid)
                                while (wire_read(&process, &field) == 1)
                                        n += number ? field.number == number : field.number != 1;
        }
        return n;
}

static pid_t make_child(void) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                for (;;)
                        pause();
        }
        return pid;
}

static void end_child(pid_t pid) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
}

START_TEST(test_only_counters_that_changed_are_written) {
        const uint64_t ms = PROBE_NS_PER_MS;
        size_t n_first, n_second, n;
        Live live;
        pid_t pid = make_child();

        live_init(&live, 1); /* made 100 */
        ck_assert_uint_eq(process_stats_probe_ops.poll(live.probe, live.base_ns + 50 * ms),
                          live.base_ns + 100 * ms);
        ck_assert(live_has_process(&live, pid, &n));
        n_first = live_n_counters_of(&live, pid, 0, 0);
        ck_assert_uint_ge(n_first, 9);
        n = live.list.n;
        ck_assert_uint_eq(process_stats_probe_ops.poll(live.probe, live.base_ns + 100 * ms),
                          live.base_ns + 200 * ms);
        n_second = live_n_counters_of(&live, pid, n, 0);
        ck_assert_uint_lt(n_second, n_first);

        /* After a clear all is written again, and the packet says that it starts over. */
        n = live.list.n;
        process_stats_probe_ops.clear_incremental_state(live.probe);
        process_stats_probe_ops.poll(live.probe, live.base_ns + 200 * ms);
        ck_assert_uint_ge(live_n_counters_of(&live, pid, n, 0), 9);
        ck_assert_uint_gt(live.list.n, n);
        end_child(pid);
        live_deinit(&live);
}
END_TEST

START_TEST(test_a_ring_that_turns_fast_is_not_filled_with_the_tree) {
        size_t n;
        Live live;

        live_init(&live, 0);
        process_stats_probe_ops.poll(live.probe, 1000 * PROBE_NS_PER_MS); /* long ago */
        n = live.list.n;
        process_stats_probe_ops.clear_incremental_state(live.probe);
        ck_assert_uint_gt(live.list.n, n);
        n = live.list.n;
        process_stats_probe_ops.clear_incremental_state(live.probe);
        ck_assert_uint_eq(live.list.n, n);
        live_deinit(&live);
}
END_TEST

START_TEST(test_threads_that_ftrace_met_are_looked_up) {
        pid_t pid = 0;
        size_t n, n_before;
        Live live;
        PidSet *pids;

        live_init(&live, 0);
        pids = session_link_pids(live.link);
        if (!kernel_names_our_pids()) { /* then wrong names would be worse than none */
                ck_assert_ptr_null(pids);
                live_deinit(&live);
                return;
        }
        ck_assert_ptr_nonnull(pids);
        ck_assert_uint_eq(process_stats_probe_ops.poll(live.probe, 1), PROBE_NEVER);
        pid = make_child();
        ck_assert(!live_has_process(&live, pid, &n_before));
        pid_set_add(pids, pid);
        pid_set_add(pids, getpid());
        pid_set_add(pids, PID_SET_PIDS_MAX - 1);
        session_link_notify(live.link);
        ck_assert(live_has_process(&live, pid, &n));
        ck_assert_uint_eq(n, n_before + 1);
        ck_assert_uint_eq(pids->n_fresh, 0);

        /* After the end nobody is told. */
        process_stats_probe_ops.stop(live.probe, 2);
        pid_set_remove(pids, pid);
        pid_set_add(pids, pid);
        n_before = live.list.n;
        session_link_notify(live.link);
        ck_assert_uint_eq(live.list.n, n_before);
        end_child(pid);
        live_deinit(&live);
}
END_TEST

/* What each poll has to read from the kernel, and what makes it walk all memory, is only read when it is asked for. */
START_TEST(test_what_costs_is_only_counted_when_asked_for) {
        enum { FIELD_SMAPS_PSS = 17, FIELD_RUNTIME_USER = 21, FIELD_RUNTIME_KERNEL = 22 };
        ProcessStatsConfig config = live_config(100);
        pid_t pid = make_child();
        Live live;

        live_init_with(&live, config);
        process_stats_probe_ops.poll(live.probe, live.base_ns);
        ck_assert_uint_gt(live_n_counters_of(&live, pid, 0, 0), 0);
        ck_assert_uint_eq(live_n_counters_of(&live, pid, 0, FIELD_SMAPS_PSS), 0);
        ck_assert_uint_eq(live_n_counters_of(&live, pid, 0, FIELD_RUNTIME_USER), 0);
        live_deinit(&live);

        config.record_process_runtime = true;
        config.scan_smaps_rollup = true;
        live_init_with(&live, config);
        process_stats_probe_ops.poll(live.probe, live.base_ns);
        ck_assert_uint_eq(live_n_counters_of(&live, pid, 0, FIELD_RUNTIME_USER), 1);
        ck_assert_uint_eq(live_n_counters_of(&live, pid, 0, FIELD_RUNTIME_KERNEL), 1);
        if (access("/proc/self/smaps_rollup", R_OK) == 0)
                ck_assert_uint_eq(live_n_counters_of(&live, pid, 0, FIELD_SMAPS_PSS), 1);
        live_deinit(&live);
        end_child(pid);
}
END_TEST

START_TEST(test_counters_are_written_again_when_they_are_old) {
        ProcessStatsConfig config = live_config(100);
        size_t n[4], first = 0;
        pid_t pid = make_child();
        Live live;

        config.proc_stats_cache_ttl_ms = 299; /* two polls */
        live_init_with(&live, config);
        for (size_t i = 0; i < ARRAY_SIZE(n); i++) {
                process_stats_probe_ops.poll(live.probe, live.base_ns + i * 100 * PROBE_NS_PER_MS);
                n[i] = live_n_counters_of(&live, pid, first, 0);
                first = live.list.n;
        }
        ck_assert_uint_lt(n[1], n[0]);
        ck_assert_uint_ge(n[2], 9);
        ck_assert_uint_lt(n[3], n[2]);
        live_deinit(&live);
        end_child(pid);
}
END_TEST

START_TEST(test_a_process_that_has_gone_is_no_longer_counted) {
        pid_t pid = make_child();
        Live live;
        size_t n;

        live_init(&live, 100);
        process_stats_probe_ops.poll(live.probe, live.base_ns);
        end_child(pid);
        n = live.list.n;
        process_stats_probe_ops.poll(live.probe, live.base_ns + 100 * PROBE_NS_PER_MS);
        ck_assert_uint_eq(live_n_counters_of(&live, pid, n, 0), 0);
        live_deinit(&live);
}
END_TEST

static size_t live_n_processes(Live *live, pid_t pid) {
        WireReader tree, process;
        size_t n = 0;

        for (size_t i = 0; packet_list_find(&live->list, PACKET_PROCESS_TREE, i, &tree); i++)
                for (size_t k = 0; message_submessage(tree, 1, k, &process); k++)
                        n += message_uint(process, 1) == (uint64_t)pid;
        return n;
}

static void rename_self(int signal) {
        prctl(PR_SET_NAME, "renamed");
}

/* Waits until the kernel shows it. */
static void rename_child(pid_t pid) {
        char path[64], *name = NULL;

        kill(pid, SIGUSR1);
        snprintf(path, sizeof(path), "/proc/%d/comm", pid);
        do {
                free(name);
                usleep(1000);
                ck_assert_int_eq(fd_read_file(&name, NULL, AT_FDCWD, path, 64), 0);
        } while (!streq(name, "renamed\n"));
        free(name);
}

/* As one that is moved into a unit of its own. */
START_TEST(test_a_process_that_changed_while_young_is_written_again_at_the_end) {
        pid_t pid;
        Live live;

        signal(SIGUSR1, rename_self);
        pid = make_child();
        live_init(&live, 0);
        ck_assert_uint_eq(process_stats_probe_ops.poll(live.probe, probe_now_ns()), PROBE_NEVER);
        ck_assert_uint_eq(live_n_processes(&live, pid), 1);
        process_stats_probe_ops.flush(live.probe, probe_now_ns());
        ck_assert_uint_eq(live_n_processes(&live, pid), 1);
        rename_child(pid);
        process_stats_probe_ops.stop(live.probe, probe_now_ns());
        ck_assert_uint_eq(live_n_processes(&live, pid), 2);
        live_deinit(&live);
        end_child(pid);
}
END_TEST

static bool has_note(const ProbeNotes *notes, const char *text) {
        for (size_t i = 0; i < notes->n; i++)
                if (strstr(notes->texts[i], text))
                        return true;
        return false;
}

START_TEST(test_what_is_asked_for_and_not_recorded_is_noted) {
        ProcessStatsConfig config = live_config(100);
        Live live;

        live_init_with(&live, config);
        ck_assert(!has_note(&live.notes, "resolve_process_fds"));
        live_deinit(&live);
        config.resolve_process_fds = true;
        config.record_process_dmabuf_rss = true;
        live_init_with(&live, config);
        ck_assert(has_note(&live.notes, "resolve_process_fds"));
        ck_assert(has_note(&live.notes, "record_process_dmabuf_rss"));
        live_deinit(&live);
}
END_TEST

TEST_MAIN("process-stats",
          test_only_counters_that_changed_are_written,
          test_a_ring_that_turns_fast_is_not_filled_with_the_tree,
          test_threads_that_ftrace_met_are_looked_up,
          test_what_costs_is_only_counted_when_asked_for,
          test_counters_are_written_again_when_they_are_old,
          test_a_process_that_has_gone_is_no_longer_counted,
          test_a_process_that_changed_while_young_is_written_again_at_the_end,
          test_what_is_asked_for_and_not_recorded_is_noted)
