/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "kernel.h"
#include "packet-list.h"
#include "probes/proc/process-stats-probe.h"
#include "probes/proc/process-tree.h"

START_TEST(test_status_is_read_by_key) {
        char *text = fixture_read("proc/812/status", NULL);
        ProcessStatus status;

        ck_assert(process_status_parse(&status, text));
        free(text);
        ck_assert_str_eq(status.name, "gnome-shell");
        ck_assert_int_eq(status.tgid, 812);
        ck_assert_int_eq(status.ppid, 1);
        ck_assert_uint_eq(status.uid, 1000);
        ck_assert_uint_eq(status.n_nspids, 2);
        ck_assert_int_eq(status.nspids[0], 7);
        ck_assert_int_eq(status.nspids[1], 1);
        ck_assert(!status.is_kthread);
        ck_assert_int_eq(status.counters.values[PROCESS_VM_SIZE], 51756);
        ck_assert_uint_eq(status.counters.known, (1u << (PROCESS_VM_HWM + 1)) - 1);

        text = fixture_read("proc/2/status", NULL);
        ck_assert(process_status_parse(&status, text));
        free(text);
        ck_assert(status.is_kthread);
        ck_assert_uint_eq(status.counters.known, 0);
        ck_assert_uint_eq(status.n_nspids, 0);

        /* Before the kernel said so, children of 2 were kernel threads. */
        ck_assert(process_status_parse(&status, "Name:\tkworker\nTgid:\t9\nPPid:\t2\n"));
        ck_assert(status.is_kthread);
        ck_assert(!process_status_parse(&status, "Name:\tx\n"));
        ck_assert(!process_status_parse(&status, ""));
}
END_TEST

START_TEST(test_names_in_stat_may_hold_anything) {
        ProcessTimes times;

        ck_assert(process_times_parse(
                &times, "7 (a) 1 2\n(b) S 1 7 7 0 -1 4 5 6 7 8 11 12 0 0 20 0 1 0 4711 9 9\n"));
        ck_assert_uint_eq(times.user_ticks, 11);
        ck_assert_uint_eq(times.kernel_ticks, 12);
        ck_assert_uint_eq(times.start_ticks, 4711);
        ck_assert(!process_times_parse(&times, "7 (a) S 1 2 3"));
        ck_assert(!process_times_parse(&times, "7 no name"));
}
END_TEST

/* A tree over a copy of /proc. */
typedef struct World {
        PacketList list;
        PacketWriter packets;
        ProcDir proc;
        TaskTable tasks;
        ProcessTree tree;
} World;

static void world_init(World *world, const char *path) {
        *world = (World){ .list = PACKET_LIST_INIT };
        packet_writer_init(&world->packets, &world->list.sink);
        ck_assert_int_eq(proc_dir_open(&world->proc, path), 0);
        world->tree = (ProcessTree){
                .packets = &world->packets,
                .proc = &world->proc,
                .tasks = &world->tasks,
                .thread_names = true,
        };
        process_tree_begin(&world->tree, 1);
}

static void world_deinit(World *world) {
        task_table_deinit(&world->tasks);
        proc_dir_close(&world->proc);
        packet_writer_deinit(&world->packets);
        packet_list_deinit(&world->list);
}

START_TEST(test_a_process_is_written_with_its_threads) {
        WireReader tree, process, thread;
        World world;

        world_init(&world, FIXTURES "/proc");
        process_tree_add_with_threads(&world.tree, 812);
        process_tree_end(&world.tree);
        ck_assert(packet_list_find(&world.list, PACKET_PROCESS_TREE, 0, &tree));
        ck_assert_uint_eq(message_count(tree, 1), 1);
        ck_assert(message_submessage(tree, 1, 0, &process));
        ck_assert_uint_eq(message_uint(process, 1), 812);
        ck_assert_uint_eq(message_uint(process, 2), 1);
        ck_assert_uint_eq(message_count(process, 3), 3);
        ck_assert(message_has_text(process, 3, "/usr/bin/gnome-shell"));
        ck_assert(message_has_text(process, 3, ":0"));
        ck_assert_uint_eq(message_uint(process, 5), 1000);
        ck_assert_uint_eq(message_count(process, 6), 2);
        ck_assert_uint_eq(message_count(process, 8) + message_count(process, 9), 0);

        ck_assert_uint_eq(message_count(tree, 2), 2);
        ck_assert(message_submessage(tree, 2, 1, &thread));
        ck_assert_uint_eq(message_uint(thread, 1), 830);
        ck_assert(message_has_text(thread, 2, "gmain"));
        ck_assert_uint_eq(message_uint(thread, 3), 812);
        ck_assert_uint_eq(message_uint(thread, 4), 9);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_thread_brings_its_process_and_is_written_once) {
        WireReader tree;
        World world;

        world_init(&world, FIXTURES "/proc");
        process_tree_add_thread(&world.tree, 830);
        process_tree_add_thread(&world.tree, 830);
        process_tree_add_thread(&world.tree, 812);
        process_tree_end(&world.tree);
        ck_assert(packet_list_find(&world.list, PACKET_PROCESS_TREE, 0, &tree));
        ck_assert_uint_eq(message_count(tree, 1), 1);
        ck_assert_uint_eq(message_count(tree, 2), 2);
        process_tree_begin(&world.tree, 2);
        process_tree_add_thread(&world.tree, 830);
        process_tree_end(&world.tree);
        ck_assert_uint_eq(world.list.n, 1);
        world_deinit(&world);
}
END_TEST

START_TEST(test_kernel_threads_are_named_by_their_name) {
        WireReader tree, process;
        World world;

        world_init(&world, FIXTURES "/proc");
        process_tree_add_with_threads(&world.tree, 2);
        process_tree_end(&world.tree);
        ck_assert(packet_list_find(&world.list, PACKET_PROCESS_TREE, 0, &tree));
        ck_assert(message_submessage(tree, 1, 0, &process));
        ck_assert(message_has_text(process, 3, "kthreadd"));
        ck_assert_uint_eq(message_uint(process, 8), 1);
        ck_assert_uint_eq(message_uint(process, 9), 1);
        world_deinit(&world);
}
END_TEST

START_TEST(test_what_is_gone_or_hidden_is_passed_over) {
        World world;

        world_init(&world, FIXTURES "/proc");
        process_tree_add_thread(&world.tree, 4711);
        process_tree_add_with_threads(&world.tree, 4711);
        ck_assert_ptr_null(process_tree_add_process(&world.tree, 830)); /* a thread is no process */
        process_tree_end(&world.tree);
        ck_assert_uint_eq(world.list.n, 0);
        ck_assert_uint_eq(world.tasks.n_tasks, 0);
        world_deinit(&world);
}
END_TEST

START_TEST(test_a_dropped_tree_is_written_again) {
        World world;

        world_init(&world, FIXTURES "/proc");
        world.list.refuses = true;
        process_tree_add_with_threads(&world.tree, 812);
        process_tree_end(&world.tree);
        ck_assert_uint_eq(world.list.n, 0);
        world.list.refuses = false;
        process_tree_begin(&world.tree, 2);
        process_tree_add_with_threads(&world.tree, 812);
        process_tree_end(&world.tree);
        ck_assert_uint_eq(world.list.n, 1);
        world_deinit(&world);
}
END_TEST

static void write_file(const char *dir, const char *file, const char *text) {
        char path[256];
        FILE *to;

        snprintf(path, sizeof(path), "%s/%s", dir, file);
        to = fopen(path, "we");
        ck_assert_ptr_nonnull(to);
        fputs(text, to);
        fclose(to);
}

static void make_process(const char *root, const char *start) {
        char dir[128], text[256];

        snprintf(dir, sizeof(dir), "%s/50", root);
        mkdir(dir, 0700);
        write_file(dir, "status", "Name:\tsh\nTgid:\t50\nPPid:\t1\nUid:\t0\t0\t0\t0\n");
        snprintf(text, sizeof(text), "50 (sh) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %s 0\n", start);
        write_file(dir, "stat", text);
        write_file(dir, "cmdline", "");
}

START_TEST(test_a_pid_that_comes_back_is_somebody_else) {
        char root[] = "/tmp/desktrace-test-XXXXXX", command[64];
        World world;

        ck_assert_ptr_nonnull(mkdtemp(root));
        make_process(root, "100");
        world_init(&world, root);
        ck_assert_ptr_nonnull(process_tree_add_process(&world.tree, 50));
        process_tree_end(&world.tree);
        process_tree_begin(&world.tree, 2);
        ck_assert_ptr_nonnull(process_tree_add_process(&world.tree, 50));
        process_tree_end(&world.tree);
        ck_assert_uint_eq(world.list.n, 1);
        make_process(root, "200");
        process_tree_begin(&world.tree, 3);
        ck_assert_ptr_nonnull(process_tree_add_process(&world.tree, 50));
        process_tree_end(&world.tree);
        ck_assert_uint_eq(world.list.n, 2);
        world_deinit(&world);
        snprintf(command, sizeof(command), "rm -r %s", root);
        ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(test_tasks_are_found_after_many_and_pruned_with_their_process) {
        TaskTable table = {};
        Task *task;

        for (pid_t tid = 1; tid <= 5000; tid++) {
                ck_assert_int_eq(task_table_add(&table, &task, tid), 0);
                task->tgid = (tid + 9) / 10 * 10;
                task->seen = tid % 20 == 0; /* half of the processes */
        }
        ck_assert_uint_eq(table.n_tasks, 5000);
        for (pid_t tid = 1; tid <= 5000; tid++)
                ck_assert_ptr_nonnull(task_table_find(&table, tid));
        ck_assert_ptr_null(task_table_find(&table, 5001));
        ck_assert_ptr_null(task_table_find(&table, 0));
        ck_assert_int_eq(task_table_add(&table, &task, 0), -EINVAL);
        task_table_prune(&table, 1);
        ck_assert_uint_eq(table.n_tasks, 2500);
        ck_assert_ptr_nonnull(task_table_find(&table, 11));
        ck_assert_ptr_null(task_table_find(&table, 1));
        task_table_deinit(&table);
}
END_TEST

/* The whole probe, on the machine's own /proc. */
typedef struct Live {
        PacketList list;
        List links;
        SessionLink *link;
        void *probe;
} Live;

static void live_init(Live *live, uint32_t poll_ms) {
        Perfetto__Protos__ProcessStatsConfig process = PERFETTO__PROTOS__PROCESS_STATS_CONFIG__INIT;
        DataSourceConfig config = PERFETTO__PROTOS__DATA_SOURCE_CONFIG__INIT;
        ProbeSetup setup = { .config = &config };
        char *error = NULL;

        *live = (Live){ .list = PACKET_LIST_INIT };
        list_init(&live->links);
        ck_assert_int_eq(session_link_get(&live->link, &live->links, 7), 0);
        config.process_stats_config = &process;
        process.scan_all_processes_on_start = true;
        process.record_thread_names = true;
        process.proc_stats_poll_ms = poll_ms;
        setup.sink = &live->list.sink;
        setup.link = live->link;
        ck_assert_int_eq(process_stats_probe_ops.setup(&live->probe, &setup, &error), 0);
}

static void live_deinit(Live *live) {
        process_stats_probe_ops.free(live->probe);
        session_link_unref(live->link);
        ck_assert(list_is_empty(&live->links));
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

static size_t live_n_counters_of(Live *live, pid_t pid, size_t first) {
        WireReader stats, process;
        WireField field;
        size_t n = 0;

        for (size_t i = first; i < live->list.n; i++) {
                if (!packet_list_payload(&live->list, i, PACKET_PROCESS_STATS, &stats))
                        continue;
                for (size_t k = 0; message_submessage(stats, 1, k, &process); k++)
                        if (message_uint(process, 1) == (uint64_t)pid)
                                while (wire_read(&process, &field) == 1)
                                        n += field.number != 1;
        }
        return n;
}

START_TEST(test_only_counters_that_changed_are_written) {
        const uint64_t ms = PROBE_NS_PER_MS;
        size_t n_first, n_second, n;
        Live live;
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                pause();
                _exit(0);
        }
        live_init(&live, 1); /* made 100 */
        ck_assert_uint_eq(process_stats_probe_ops.poll(live.probe, 1050 * ms), 1100 * ms);
        ck_assert(live_has_process(&live, pid, &n));
        n_first = live_n_counters_of(&live, pid, 0);
        ck_assert_uint_ge(n_first, 9);
        n = live.list.n;
        ck_assert_uint_eq(process_stats_probe_ops.poll(live.probe, 1100 * ms), 1200 * ms);
        n_second = live_n_counters_of(&live, pid, n);
        ck_assert_uint_lt(n_second, n_first);

        /* After a clear all is written again, and the packet says that it starts anew. */
        n = live.list.n;
        process_stats_probe_ops.clear_incremental_state(live.probe);
        process_stats_probe_ops.poll(live.probe, 1200 * ms);
        ck_assert_uint_ge(live_n_counters_of(&live, pid, n), 9);
        ck_assert_uint_gt(live.list.n, n);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
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
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                pause();
                _exit(0);
        }
        ck_assert(!live_has_process(&live, pid, &n_before));
        pid_set_add(pids, pid);
        pid_set_add(pids, getpid());
        pid_set_add(pids, PID_SET_PIDS_MAX - 1);
        session_link_notify(live.link);
        ck_assert(live_has_process(&live, pid, &n));
        ck_assert_uint_eq(n, n_before + 1);
        ck_assert_uint_eq(pids->n_fresh, 0);

        /* After the end nobody is told any more. */
        process_stats_probe_ops.stop(live.probe, 2);
        pid_set_remove(pids, pid);
        pid_set_add(pids, pid);
        n_before = live.list.n;
        session_link_notify(live.link);
        ck_assert_uint_eq(live.list.n, n_before);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        live_deinit(&live);
}
END_TEST

TEST_MAIN("process-tree",
          test_status_is_read_by_key,
          test_names_in_stat_may_hold_anything,
          test_a_process_is_written_with_its_threads,
          test_a_thread_brings_its_process_and_is_written_once,
          test_kernel_threads_are_named_by_their_name,
          test_what_is_gone_or_hidden_is_passed_over,
          test_a_dropped_tree_is_written_again,
          test_a_pid_that_comes_back_is_somebody_else,
          test_tasks_are_found_after_many_and_pruned_with_their_process,
          test_only_counters_that_changed_are_written,
          test_a_ring_that_turns_fast_is_not_filled_with_the_tree,
          test_threads_that_ftrace_met_are_looked_up)
