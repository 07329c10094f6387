/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "test.h"

#include <unistd.h>

#include "fixture.h"
#include "host/packet-list.h"
#include "host/probe.h"
#include "probes/proc/process-tree.h"
#include "tree.h"

#define NS_PER_TICK        UINT64_C(10000000)
#define LONG_AFTER_BOOT_NS UINT64_C(1000000000000)
#define TREE_AND_LABELS    2 /* packets that describe one process with a unit */

/* A tree over a copy of /proc. */
typedef struct World {
        PacketList list;
        PacketWriter packets, labels;
        ProcDir proc;
        TaskTable tasks;
        ProcessTree tree;
} World;

static void world_init(World *world, const char *path) {
        *world = (World){ .list = PACKET_LIST_INIT };
        packet_writer_init(&world->packets, &world->list.sink);
        packet_writer_init(&world->labels, &world->list.sink);
        ck_assert_int_eq(proc_dir_open(&world->proc, path), 0);
        world->tree = (ProcessTree){
                .packets = &world->packets,
                .labels = &world->labels,
                .proc = &world->proc,
                .tasks = &world->tasks,
                .ns_per_tick = NS_PER_TICK,
                .thread_names = true,
        };
        process_tree_begin(&world->tree, LONG_AFTER_BOOT_NS);
}

static void world_deinit(World *world) {
        task_table_deinit(&world->tasks);
        proc_dir_close(&world->proc);
        packet_writer_deinit(&world->packets);
        packet_writer_deinit(&world->labels);
        packet_list_deinit(&world->list);
}

/* The first process of the `skip`-th tree. */
static WireReader written_process(const World *world, size_t skip) {
        WireReader tree, process;

        ck_assert(packet_list_find(&world->list, PACKET_PROCESS_TREE, skip, &tree));
        ck_assert(message_submessage(tree, 1, 0, &process));
        return process;
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
        ck_assert(message_has_text(process, PROCESS_USER_UNIT, "org.gnome.Shell@wayland.service"));

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
        ck_assert_uint_eq(world.list.n, TREE_AND_LABELS);
        world_deinit(&world);
}
END_TEST

START_TEST(test_kernel_threads_are_named_by_their_name) {
        WireReader process;
        World world;

        world_init(&world, FIXTURES "/proc");
        process_tree_add_with_threads(&world.tree, 2);
        process_tree_end(&world.tree);
        process = written_process(&world, 0);
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
        ck_assert_uint_eq(world.list.n, TREE_AND_LABELS);
        world_deinit(&world);
}
END_TEST

/*
 * Processes that change
 */

static void
put_process(const Tree *proc, const char *name, const char *start, const char *cmdline) {
        char text[512];

        snprintf(text, sizeof(text), "Name:\t%s\nTgid:\t50\nUid:\t0\t0\t0\t0\n", name);
        tree_put(proc, "50/status", text);
        snprintf(text,
                 sizeof(text),
                 "50 (%s) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 2 0 %s 0\n",
                 name,
                 start);
        tree_put(proc, "50/stat", text);
        tree_put(proc, "50/cmdline", cmdline);
        snprintf(text, sizeof(text), "%s\n", name);
        tree_put(proc, "50/comm", text);
        tree_put(proc, "50/cgroup", "0::/system.slice/a.service\n");
}

/* Adds the process again, at a time; returns how many packets that made. */
static size_t add_again(World *world, uint64_t now_ns) {
        size_t n = world->list.n;

        process_tree_begin(&world->tree, now_ns);
        ck_assert_ptr_nonnull(process_tree_add_process(&world->tree, 50));
        process_tree_end(&world->tree);
        return world->list.n - n;
}

START_TEST(test_a_pid_that_comes_back_is_somebody_else) {
        WireReader process;
        Tree proc = tree_new();
        World world;

        put_process(&proc, "sh", "100", "");
        world_init(&world, proc.path);
        ck_assert_uint_eq(add_again(&world, LONG_AFTER_BOOT_NS), TREE_AND_LABELS);
        ck_assert_uint_eq(add_again(&world, LONG_AFTER_BOOT_NS), 0);
        put_process(&proc, "sh", "200", "");
        ck_assert_uint_eq(add_again(&world, LONG_AFTER_BOOT_NS), TREE_AND_LABELS);
        process = written_process(&world, 1);
        ck_assert_uint_eq(message_uint(process, 7), 200 * NS_PER_TICK);
        world_deinit(&world);
        tree_free(&proc);
}
END_TEST

START_TEST(test_a_process_that_runs_another_program_is_written_again) {
        WireReader process;
        Tree proc = tree_new();
        World world;

        put_process(&proc, "sh", "100", "/bin/sh");
        world_init(&world, proc.path);
        ck_assert_uint_eq(add_again(&world, LONG_AFTER_BOOT_NS), TREE_AND_LABELS);
        put_process(&proc, "sleep", "100", "/bin/sleep");
        ck_assert_uint_eq(add_again(&world, LONG_AFTER_BOOT_NS), TREE_AND_LABELS);
        process = written_process(&world, 1);
        ck_assert(message_has_text(process, 3, "/bin/sleep"));
        world_deinit(&world);
        tree_free(&proc);
}
END_TEST

/* Those who start programs put them into a unit of their own a moment later. */
START_TEST(test_a_young_process_is_asked_again_for_its_unit) {
        const uint64_t start_ns = 102 * NS_PER_TICK, second_ns = 100 * NS_PER_TICK;
        WireReader process;
        Tree proc = tree_new();
        World world;

        put_process(&proc, "sh", "100", "");
        world_init(&world, proc.path);
        ck_assert_uint_eq(add_again(&world, start_ns), TREE_AND_LABELS);
        ck_assert_uint_eq(add_again(&world, start_ns + second_ns), 0);
        tree_put(&proc, "50/cgroup", "0::/system.slice/b.service\n");
        ck_assert_uint_eq(add_again(&world, start_ns + 2 * second_ns), TREE_AND_LABELS);
        process = written_process(&world, 1);
        ck_assert(message_has_text(process, PROCESS_UNIT, "b.service"));
        /* A last time when it is no longer young; an old one is left alone. */
        ck_assert_uint_eq(add_again(&world, start_ns + PROCESS_YOUNG_NS), 0);
        tree_put(&proc, "50/cgroup", "0::/system.slice/c.service\n");
        ck_assert_uint_eq(add_again(&world, start_ns + 2 * PROCESS_YOUNG_NS), 0);
        world_deinit(&world);
        tree_free(&proc);
}
END_TEST

/* A child that is seen before it runs its program, which may be called as the child is. */
START_TEST(test_a_young_process_is_asked_again_for_its_arguments) {
        const uint64_t start_ns = 102 * NS_PER_TICK, second_ns = 100 * NS_PER_TICK;
        WireReader process;
        Tree proc = tree_new();
        World world;

        put_process(&proc, "sleep", "100", "/bin/sh");
        world_init(&world, proc.path);
        ck_assert_uint_eq(add_again(&world, start_ns), TREE_AND_LABELS);
        ck_assert_uint_eq(add_again(&world, start_ns + second_ns), 0);
        tree_put(&proc, "50/cmdline", "/bin/sleep");
        ck_assert_uint_eq(add_again(&world, start_ns + 2 * second_ns), TREE_AND_LABELS);
        process = written_process(&world, 1);
        ck_assert(message_has_text(process, 3, "/bin/sleep"));
        /* A last time when it is no longer young; an old one may change its title as often as it likes. */
        ck_assert_uint_eq(add_again(&world, start_ns + PROCESS_YOUNG_NS), 0);
        tree_put(&proc, "50/cmdline", "/bin/sleep: 10 %");
        ck_assert_uint_eq(add_again(&world, start_ns + 2 * PROCESS_YOUNG_NS), 0);
        world_deinit(&world);
        tree_free(&proc);
}
END_TEST

static uint64_t packet_time(const World *world, size_t i) {
        WireReader packet;

        wire_reader_init(&packet, world->list.packets[i].data, world->list.packets[i].n);
        return message_uint(packet, PACKET_TIMESTAMP);
}

/* Else readers would know it before the event that made it, and take it for two. */
START_TEST(test_a_process_is_not_there_before_it_began) {
        const uint64_t scan_ns = 100 * NS_PER_TICK, now_ns = probe_now_ns();
        Tree proc = tree_new();
        World world;

        put_process(&proc, "sh", "100", ""); /* or up to a tick later */
        world_init(&world, proc.path);
        ck_assert_uint_eq(add_again(&world, scan_ns), TREE_AND_LABELS);
        for (size_t i = 0; i < world.list.n; i++)
                ck_assert_uint_ge(packet_time(&world, i), now_ns);

        put_process(&proc, "sh", "99", "");
        ck_assert_uint_eq(add_again(&world, scan_ns), TREE_AND_LABELS);
        ck_assert_uint_eq(packet_time(&world, world.list.n - 1), scan_ns);
        world_deinit(&world);
        tree_free(&proc);
}
END_TEST

START_TEST(test_a_thread_that_is_renamed_is_written_again) {
        WireReader tree, thread;
        Tree proc = tree_new();
        World world;

        put_process(&proc, "sh", "100", "");
        tree_put(&proc, "51/status", "Name:\tone\nTgid:\t50\n");
        world_init(&world, proc.path);
        process_tree_add_thread(&world.tree, 51);
        process_tree_add_thread(&world.tree, 51);
        tree_put(&proc, "51/status", "Name:\ttwo\nTgid:\t50\n");
        process_tree_add_thread(&world.tree, 51);
        process_tree_end(&world.tree);
        ck_assert(packet_list_find(&world.list, PACKET_PROCESS_TREE, 0, &tree));
        ck_assert_uint_eq(message_count(tree, 1), 1);
        ck_assert_uint_eq(message_count(tree, 2), 3); /* with the main one */
        ck_assert(message_submessage(tree, 2, 2, &thread));
        ck_assert(message_has_text(thread, 2, "two"));
        world_deinit(&world);
        tree_free(&proc);
}
END_TEST

/*
 * What is in a tree
 */

static void put_threads(const Tree *proc) {
        put_process(proc, "sh", "100", "");
        tree_put(proc, "50/task/50/comm", "sh\n");
        tree_put(proc, "50/task/51/comm", "worker\n");
        tree_put(proc, "50/task/52/comm", "gone\n");
        tree_put(proc, "51/comm", "worker\n");
}

static void scan_threads(World *world, const char *path, bool names, bool skips, WireReader *ret) {
        world_init(world, path);
        world->tree.thread_names = names;
        world->tree.skips_main_threads = skips;
        process_tree_add_with_threads(&world->tree, 50);
        process_tree_end(&world->tree);
        ck_assert(packet_list_find(&world->list, PACKET_PROCESS_TREE, 0, ret));
}

START_TEST(test_threads_are_named_and_main_ones_left_out_as_wanted) {
        WireReader tree, thread;
        Tree proc = tree_new();
        World world;

        put_threads(&proc);
        scan_threads(&world, proc.path, true, false, &tree);
        ck_assert_uint_eq(message_count(tree, 2), 2);
        ck_assert(message_submessage(tree, 2, 0, &thread));
        ck_assert_uint_eq(message_uint(thread, 1), 50);
        ck_assert(message_submessage(tree, 2, 1, &thread));
        ck_assert_uint_eq(message_uint(thread, 1), 51);
        ck_assert_uint_eq(message_uint(thread, 3), 50);
        ck_assert(message_has_text(thread, 2, "worker"));
        world_deinit(&world);

        scan_threads(&world, proc.path, true, true, &tree);
        ck_assert_uint_eq(message_count(tree, 2), 1);
        world_deinit(&world);

        /* Without names there is nothing to read of them, so nobody notices that one has gone. */
        scan_threads(&world, proc.path, false, false, &tree);
        ck_assert_uint_eq(message_count(tree, 2), 3);
        ck_assert(message_submessage(tree, 2, 1, &thread));
        ck_assert_uint_eq(message_count(thread, 2), 0);
        world_deinit(&world);
        tree_free(&proc);
}
END_TEST

START_TEST(test_a_process_says_its_unit_app_and_container) {
        WireReader process, labels;
        Tree proc = tree_new();
        World world;

        put_process(&proc, "firefox", "100", "");
        tree_put(&proc,
                 "50/cgroup",
                 "0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
                 "app-flatpak-org.mozilla.firefox-12.scope/docker/0123456789abcdef\n");
        world_init(&world, proc.path);
        add_again(&world, LONG_AFTER_BOOT_NS);
        process = written_process(&world, 0);
        ck_assert(message_has_text(process, PROCESS_UNIT, "user@1000.service"));
        ck_assert(message_has_text(
                process, PROCESS_USER_UNIT, "app-flatpak-org.mozilla.firefox-12.scope"));
        ck_assert(message_has_text(process, PROCESS_SLICE, "user-1000.slice"));
        ck_assert(message_has_text(process, PROCESS_USER_SLICE, "app.slice"));
        ck_assert(message_has_text(process, PROCESS_APP_ID, "org.mozilla.firefox"));
        ck_assert(message_has_text(process, PROCESS_APP_KIND, "flatpak"));
        ck_assert(message_has_text(process, PROCESS_CONTAINER, "0123456789abcdef"));
        ck_assert(message_has_text(process, PROCESS_CONTAINER_KIND, "docker"));
        ck_assert_uint_eq(message_count(process, PROCESS_CGROUP), 1);

        /* By its pid alone: a uuid would make two processes of it. */
        ck_assert(packet_list_find(&world.list, PACKET_PROCESS_DESCRIPTOR, 0, &labels));
        ck_assert_uint_eq(message_uint(labels, 1), 50);
        ck_assert(message_has_text(labels, 8, "docker 0123456789ab"));
        ck_assert(message_has_text(labels, 8, "flatpak org.mozilla.firefox"));
        for (size_t i = 0; i < world.list.n; i++)
                ck_assert(!packet_list_payload(&world.list, i, PACKET_TRACK_DESCRIPTOR, &labels));
        world_deinit(&world);
        tree_free(&proc);
}
END_TEST

START_TEST(test_a_zombie_is_called_by_its_name) {
        WireReader process;
        Tree proc = tree_new();
        World world;

        put_process(&proc, "sh", "100", "");
        tree_put(&proc, "50/status", "Name:\tsh\nState:\tZ (zombie)\nTgid:\t50\nUid:\t7\n");
        tree_remove(&proc, "50/cgroup");
        world_init(&world, proc.path);
        ck_assert_uint_eq(add_again(&world, LONG_AFTER_BOOT_NS), 1);
        process = written_process(&world, 0);
        ck_assert(message_has_text(process, 3, "sh"));
        ck_assert_uint_eq(message_uint(process, 9), 1);
        ck_assert_uint_eq(message_uint(process, 5), 7);
        ck_assert_uint_eq(message_count(process, PROCESS_UNIT), 0);
        world_deinit(&world);
        tree_free(&proc);
}
END_TEST

/* Returns the first argument's length, and how many there are. */
static size_t first_argument(World *world, size_t *ret_n) {
        WireReader process = written_process(world, 0);
        WireField field;

        ck_assert(message_field(process, 3, 0, &field));
        *ret_n = message_count(process, 3);
        return field.n_bytes;
}

START_TEST(test_a_command_line_may_be_huge_or_only_nuls) {
        const size_t n_huge = 10u << 20;
        char *huge = malloc(n_huge);
        Tree proc = tree_new();
        World world;
        size_t n;

        ck_assert_ptr_nonnull(huge);
        memset(huge, 'x', n_huge);
        put_process(&proc, "sh", "100", "");
        tree_put_bytes(&proc, "50/cmdline", huge, n_huge);
        world_init(&world, proc.path);
        add_again(&world, LONG_AFTER_BOOT_NS);
        ck_assert_uint_eq(first_argument(&world, &n), PROCESS_CMDLINE_MAX);
        ck_assert_uint_eq(n, 1);
        world_deinit(&world);

        memset(huge, '\0', n_huge);
        tree_put_bytes(&proc, "50/cmdline", huge, n_huge);
        world_init(&world, proc.path);
        add_again(&world, LONG_AFTER_BOOT_NS);
        ck_assert_uint_eq(first_argument(&world, &n), strlen("sh"));
        world_deinit(&world);

        /* An empty argument in the middle is one. */
        tree_put_bytes(&proc, "50/cmdline", "a\0\0b", 4);
        world_init(&world, proc.path);
        add_again(&world, LONG_AFTER_BOOT_NS);
        ck_assert_uint_eq(first_argument(&world, &n), 1);
        ck_assert_uint_eq(n, 3);
        world_deinit(&world);

        /* But it is nobody's name. */
        tree_put_bytes(&proc, "50/cmdline", "\0a", 3);
        world_init(&world, proc.path);
        add_again(&world, LONG_AFTER_BOOT_NS);
        ck_assert_uint_eq(first_argument(&world, &n), strlen("sh"));
        ck_assert_uint_eq(n, 2);
        world_deinit(&world);
        free(huge);
        tree_free(&proc);
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

START_TEST(test_tasks_are_bounded_by_forgetting_all) {
        TaskTable table = {};
        Task *task;

        for (pid_t tid = 1; tid <= (pid_t)TASK_TABLE_TASKS_MAX + 10; tid++)
                ck_assert_int_eq(task_table_add(&table, &task, tid), 0);
        ck_assert_uint_eq(table.n_tasks, 10);
        ck_assert_ptr_null(task_table_find(&table, 1));
        ck_assert_ptr_nonnull(task_table_find(&table, (pid_t)TASK_TABLE_TASKS_MAX + 10));
        task_table_deinit(&table);
}
END_TEST

TEST_MAIN("process-tree",
          test_a_process_is_written_with_its_threads,
          test_a_thread_brings_its_process_and_is_written_once,
          test_kernel_threads_are_named_by_their_name,
          test_what_is_gone_or_hidden_is_passed_over,
          test_a_dropped_tree_is_written_again,
          test_a_pid_that_comes_back_is_somebody_else,
          test_a_process_that_runs_another_program_is_written_again,
          test_a_young_process_is_asked_again_for_its_unit,
          test_a_young_process_is_asked_again_for_its_arguments,
          test_a_process_is_not_there_before_it_began,
          test_a_thread_that_is_renamed_is_written_again,
          test_threads_are_named_and_main_ones_left_out_as_wanted,
          test_a_process_says_its_unit_app_and_container,
          test_a_zombie_is_called_by_its_name,
          test_a_command_line_may_be_huge_or_only_nuls,
          test_tasks_are_found_after_many_and_pruned_with_their_process,
          test_tasks_are_bounded_by_forgetting_all)
