/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <unistd.h>

#include "probes/probe.h"
#include "probes/proc/process-tree.h"

enum {
        TREE_PROCESS = 1,
        TREE_THREAD = 2,
        TREE_COLLECTION_END = 3,
        PROCESS_PID = 1,
        PROCESS_PPID = 2,
        PROCESS_CMDLINE = 3,
        PROCESS_UID = 5,
        PROCESS_NSPID = 6,
        PROCESS_START_FROM_BOOT = 7,
        PROCESS_IS_KTHREAD = 8,
        PROCESS_CMDLINE_IS_COMM = 9,
        THREAD_TID = 1,
        THREAD_NAME = 2,
        THREAD_TGID = 3,
        THREAD_NSTID = 4,
};

void process_tree_begin(ProcessTree *tree, uint64_t now_ns) {
        tree->begin_ns = now_ns;
}

static WireWriter *tree_wire(ProcessTree *tree) {
        if (tree->wire)
                return tree->wire;
        tree->wire = packet_begin(tree->packets);
        wire_put_uint(tree->wire, PACKET_TIMESTAMP, tree->begin_ns);
        if (tree->says_cleared)
                wire_put_bool(tree->wire, PACKET_INCREMENTAL_STATE_CLEARED, true);
        tree->says_cleared = false;
        tree->begin = wire_begin(tree->wire, PACKET_PROCESS_TREE);
        return tree->wire;
}

void process_tree_end(ProcessTree *tree) {
        if (!tree->wire)
                return;
        wire_put_uint(tree->wire, TREE_COLLECTION_END, probe_now_ns());
        wire_end(tree->wire, tree->begin);
        tree->wire = NULL;
        /* What a dropped packet said must be said again. */
        if (packet_end(tree->packets) < 0)
                task_table_clear(tree->tasks);
}

static void tree_split(ProcessTree *tree) {
        if (tree->wire && wire_writer_size(tree->wire) >= PROCESS_TREE_BYTES_MAX)
                process_tree_end(tree);
}

/* The arguments, each ended by a NUL; without any (kernel threads, zombies) the name. */
static void put_cmdline(ProcessTree *tree, pid_t pid, const char *name, WireWriter *wire) {
        size_t n = 0;
        const char *text = proc_dir_read(tree->proc, pid, "cmdline", &n);

        n = MIN(n, (size_t)PROCESS_CMDLINE_MAX);
        /* Programs that write their title over their arguments leave trailing NULs or none at all. */
        while (n > 0 && text[n - 1] == '\0')
                n--;
        if (n == 0) {
                wire_put_string(wire, PROCESS_CMDLINE, name);
                wire_put_bool(wire, PROCESS_CMDLINE_IS_COMM, true);
                return;
        }
        for (size_t at = 0; at < n;) {
                size_t n_argument = strnlen(text + at, n - at);

                wire_put_bytes(wire, PROCESS_CMDLINE, text + at, n_argument);
                at += n_argument + 1;
        }
}

static void put_process(ProcessTree *tree, const ProcessStatus *status, uint64_t start_ticks) {
        WireWriter *wire = tree_wire(tree);
        size_t begin = wire_begin(wire, TREE_PROCESS);

        wire_put_int(wire, PROCESS_PID, status->tgid);
        wire_put_int(wire, PROCESS_PPID, status->ppid);
        put_cmdline(tree, status->tgid, status->name, wire);
        wire_put_uint(wire, PROCESS_UID, status->uid);
        for (size_t i = 0; i < status->n_nspids; i++)
                wire_put_int(wire, PROCESS_NSPID, status->nspids[i]);
        wire_put_uint(wire,
                      PROCESS_START_FROM_BOOT,
                      start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)));
        if (status->is_kthread)
                wire_put_bool(wire, PROCESS_IS_KTHREAD, true);
        wire_end(wire, begin);
}

static void put_thread(ProcessTree *tree, pid_t tid, const ProcessStatus *status) {
        WireWriter *wire = tree_wire(tree);
        size_t begin = wire_begin(wire, TREE_THREAD);

        wire_put_int(wire, THREAD_TID, tid);
        if (tree->thread_names)
                wire_put_string(wire, THREAD_NAME, status->name);
        wire_put_int(wire, THREAD_TGID, status->tgid);
        for (size_t i = 0; i < status->n_nspids; i++)
                wire_put_int(wire, THREAD_NSTID, status->nspids[i]);
        wire_end(wire, begin);
}

static bool read_status(ProcessTree *tree, pid_t pid, ProcessStatus *ret) {
        const char *text = proc_dir_read(tree->proc, pid, "status", NULL);

        return text && process_status_parse(ret, text);
}

Task *process_tree_add_process(ProcessTree *tree, pid_t pid) {
        const char *text = proc_dir_read(tree->proc, pid, "stat", NULL);
        ProcessStatus status;
        ProcessTimes times;
        Task *task;

        if (!text || !process_times_parse(&times, text))
                return NULL;
        task = task_table_find(tree->tasks, pid);
        if (task && task->tgid == pid && task->start_ticks == times.start_ticks)
                return task;
        if (!read_status(tree, pid, &status) || status.tgid != pid)
                return NULL;

        /* Before it is remembered: closing a packet that is dropped forgets all tasks. */
        tree_split(tree);
        put_process(tree, &status, times.start_ticks);
        if (tree->thread_names)
                put_thread(tree, pid, &status);
        if (task_table_add(tree->tasks, &task, pid) < 0)
                return NULL;
        *task = (Task){
                .tid = pid,
                .tgid = pid,
                .start_ticks = times.start_ticks,
                .is_kthread = status.is_kthread,
        };
        return task;
}

void process_tree_add_thread(ProcessTree *tree, pid_t tid) {
        ProcessStatus status;
        Task *task;

        if (!read_status(tree, tid, &status))
                return;
        if (!process_tree_add_process(tree, status.tgid) || status.tgid == tid)
                return;
        task = task_table_find(tree->tasks, tid);
        if (task && task->tgid == status.tgid)
                return;
        tree_split(tree);
        put_thread(tree, tid, &status);
        if (task_table_add(tree->tasks, &task, tid) == 0)
                *task = (Task){ .tid = tid, .tgid = status.tgid };
}

void process_tree_add_with_threads(ProcessTree *tree, pid_t pid) {
        ProcWalk walk;
        pid_t tid;

        if (!process_tree_add_process(tree, pid))
                return;
        proc_walk_begin(&walk, tree->proc, pid);
        while ((tid = proc_walk_next(&walk)))
                if (tid != pid)
                        process_tree_add_thread(tree, tid);
        proc_walk_end(&walk);
}
