/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Encodes a ProcessTree, in packets of bounded size. */

#include <assert.h>
#include <stdio.h>

#include "host/probe.h"
#include "probes/proc/process-tree.h"
#include "shared/flatpak-info.h"
#include "shared/process-unit.h"

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
        DESCRIPTOR_PID = 1,
        DESCRIPTOR_LABELS = 8,
};

/* The things that were written about a process and that may change while it is young. */
typedef struct WrittenHashes {
        uint32_t cmdline;
        uint32_t unit;
} WrittenHashes;

/* What was read about a process that is to be written. */
typedef struct Person {
        pid_t pid;
        ProcessStat stat;
        ProcessStatus status; /* for kernel threads, only the part that is needed here */
} Person;

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

/* FNV-1a. It only has to tell two names apart. */
static uint32_t text_hash(const char *text, size_t n) {
        uint32_t hash = 2166136261u;

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ (uint8_t)text[i]) * 16777619u;
        return hash;
}

static uint32_t name_hash(const char *name) {
        return text_hash(name, strlen(name));
}

/*
 * Units
 */

static void put_part(WireWriter *wire, uint32_t field, PathPart part) {
        if (part.n > 0)
                wire_put_bytes(wire, field, part.text, part.n);
}

static void put_text(WireWriter *wire, uint32_t field, const char *text) {
        if (text[0])
                wire_put_string(wire, field, text);
}

static void put_labels(ProcessTree *tree, pid_t pid, const ProcessUnit *unit) {
        char labels[PROCESS_LABELS_MAX][PROCESS_LABEL_BYTES];
        size_t n = process_unit_labels(unit, labels), begin;
        WireWriter *wire;

        if (n == 0 || !tree->labels)
                return;
        wire = packet_begin(tree->labels);
        wire_put_uint(wire, PACKET_TIMESTAMP, tree->begin_ns);
        begin = wire_begin(wire, PACKET_PROCESS_DESCRIPTOR);
        wire_put_int(wire, DESCRIPTOR_PID, pid);
        for (size_t i = 0; i < n; i++)
                wire_put_string(wire, DESCRIPTOR_LABELS, labels[i]);
        wire_end(wire, begin);
        (void)packet_end(tree->labels); /* counted there */
}

static const char *read_unit(ProcessTree *tree, pid_t pid, uint32_t *ret_hash) {
        size_t n = 0;
        const char *text = proc_dir_read(tree->proc, pid, "cgroup", &n);

        *ret_hash = text ? text_hash(text, n) : 0;
        return text;
}

/* What the unit does not tell: whether it is an app in a sandbox, all of which have pid namespaces of their own. */
static void look_into_sandbox(ProcessTree *tree, const Person *person, ProcessUnit *unit) {
        static_assert(sizeof(unit->app_id) == FLATPAK_APP_ID_BYTES, "one size of names");

        if (person->status.n_nspids > 0 && !unit->app_id[0] && !unit->container[0] &&
            flatpak_info_read(unit->app_id, tree->proc->fd, person->pid))
                unit->app_kind = "flatpak";
}

/* Returns the hash of its cgroup's text. */
static uint32_t put_unit(ProcessTree *tree, const Person *person, WireWriter *wire) {
        uint32_t hash;
        const char *text = read_unit(tree, person->pid, &hash);
        ProcessUnit unit;

        if (!process_unit_parse(&unit, text ?: ""))
                unit.cgroup.n = 0; /* the root says nothing */
        look_into_sandbox(tree, person, &unit);
        put_part(wire, PROCESS_UNIT, unit.unit);
        put_part(wire, PROCESS_USER_UNIT, unit.user_unit);
        put_part(wire, PROCESS_SLICE, unit.slice);
        put_part(wire, PROCESS_USER_SLICE, unit.user_slice);
        put_part(wire, PROCESS_CGROUP, unit.cgroup);
        put_text(wire, PROCESS_APP_ID, unit.app_id);
        put_text(wire, PROCESS_APP_KIND, unit.app_kind);
        put_text(wire, PROCESS_CONTAINER, unit.container);
        put_text(wire, PROCESS_CONTAINER_KIND, unit.container_kind);
        put_labels(tree, person->pid, &unit);
        return hash;
}

/*
 * Processes
 */

/* A name may be empty, but readers ignore a process that has none. */
static const char *some_name(const char *name) {
        return name[0] ? name : "?";
}

static void put_name_as_cmdline(WireWriter *wire, const char *name) {
        wire_put_string(wire, PROCESS_CMDLINE, some_name(name));
        wire_put_bool(wire, PROCESS_CMDLINE_IS_COMM, true);
}

static const char *read_cmdline(ProcessTree *tree, pid_t pid, size_t *ret_n, uint32_t *ret_hash) {
        const char *text =
                proc_dir_read_some(tree->proc, pid, "cmdline", PROCESS_CMDLINE_MAX, ret_n);

        *ret_hash = text ? text_hash(text, *ret_n) : 0;
        return text;
}

/* The arguments, each ended by a NUL, or the name if there are none (zombies). */
static uint32_t put_cmdline(ProcessTree *tree, pid_t pid, const char *name, WireWriter *wire) {
        size_t n = 0;
        uint32_t hash;
        const char *text = read_cmdline(tree, pid, &n, &hash);

        /* Programs that overwrite their arguments with a title leave NULs at the end, or none at all. */
        while (n > 0 && text[n - 1] == '\0')
                n--;
        if (n == 0) {
                put_name_as_cmdline(wire, name);
                return hash;
        }
        /* Readers take the first argument for the name. */
        if (text[0] == '\0')
                wire_put_string(wire, PROCESS_CMDLINE, some_name(name));
        for (size_t at = text[0] == '\0'; at < n;) {
                size_t n_argument = strnlen(text + at, n - at);

                wire_put_bytes(wire, PROCESS_CMDLINE, text + at, n_argument);
                at += n_argument + 1;
        }
        return hash;
}

static void put_process(ProcessTree *tree, const Person *person, WrittenHashes *ret) {
        WireWriter *wire = tree_wire(tree);
        size_t begin = wire_begin(wire, TREE_PROCESS);

        wire_put_int(wire, PROCESS_PID, person->pid);
        wire_put_int(wire, PROCESS_PPID, person->stat.ppid);
        wire_put_uint(wire, PROCESS_UID, person->status.uid);
        for (size_t i = 0; i < person->status.n_nspids; i++)
                wire_put_int(wire, PROCESS_NSPID, person->status.nspids[i]);
        wire_put_uint(wire, PROCESS_START_FROM_BOOT, person->stat.start_ticks * tree->ns_per_tick);
        if (person->stat.is_kthread) {
                put_name_as_cmdline(wire, person->stat.name);
                wire_put_bool(wire, PROCESS_IS_KTHREAD, true);
        } else {
                ret->cmdline = put_cmdline(tree, person->pid, person->stat.name, wire);
                ret->unit = put_unit(tree, person, wire);
        }
        wire_end(wire, begin);
}

static void
put_thread(ProcessTree *tree, pid_t tid, const char *name, const ProcessStatus *status) {
        WireWriter *wire = tree_wire(tree);
        size_t begin = wire_begin(wire, TREE_THREAD);

        wire_put_int(wire, THREAD_TID, tid);
        if (tree->thread_names && name[0])
                wire_put_string(wire, THREAD_NAME, name);
        wire_put_int(wire, THREAD_TGID, status->tgid);
        for (size_t i = 0; i < status->n_nspids; i++)
                wire_put_int(wire, THREAD_NSTID, status->nspids[i]);
        wire_end(wire, begin);
}

static bool read_status(ProcessTree *tree, pid_t pid, ProcessStatus *ret) {
        const char *text = proc_dir_read(tree->proc, pid, "status", NULL);

        return text && process_status_parse(ret, text);
}

/* Kernel threads belong to root, and have no namespaces and no further threads. */
static bool read_person(ProcessTree *tree, Person *person) {
        if (person->stat.is_kthread) {
                person->status = (ProcessStatus){ .tgid = person->pid };
                return true;
        }
        return read_status(tree, person->pid, &person->status) &&
               person->status.tgid == person->pid;
}

static bool is_young(const ProcessTree *tree, const ProcessStat *stat) {
        return tree->begin_ns < stat->start_ticks * tree->ns_per_tick + PROCESS_YOUNG_NS;
}

/* A kernel thread's name shows what it is working on right now. */
static bool is_still(ProcessTree *tree, Task *task, const ProcessStat *stat) {
        uint32_t cmdline_hash, unit_hash;
        size_t n;

        if (task->start_ticks != stat->start_ticks)
                return false;
        if (task->is_kthread)
                return true;
        if (task->name_hash != name_hash(stat->name))
                return false;
        if (!task->is_young)
                return true;
        task->is_young = is_young(tree, stat);
        (void)read_unit(tree, task->tid, &unit_hash);
        (void)read_cmdline(tree, task->tid, &n, &cmdline_hash);
        return unit_hash == task->unit_hash && cmdline_hash == task->cmdline_hash;
}

/* A packet has one time for everything in it. For readers, nothing exists before the event that made it, so
 * processes that may have begun since then go into a packet with a time of their own. */
static void tree_catch_up(ProcessTree *tree, const ProcessStat *stat) {
        if ((stat->start_ticks + 1) * tree->ns_per_tick <= tree->begin_ns)
                return;
        process_tree_end(tree);
        tree->begin_ns = MAX(tree->begin_ns, probe_now_ns());
}

static Task *add_person(ProcessTree *tree, const Person *person) {
        WrittenHashes hashes = { 0 };
        Task *task;

        /* This comes before the task is remembered: closing a packet that is then dropped forgets all tasks. */
        tree_split(tree);
        tree_catch_up(tree, &person->stat);
        put_process(tree, person, &hashes);
        if (!tree->skips_main_threads)
                put_thread(tree, person->pid, person->stat.name, &person->status);
        if (task_table_add(tree->tasks, &task, person->pid) < 0)
                return NULL;
        if (task->start_ticks != person->stat.start_ticks)
                task_reset(task);
        task->tgid = person->pid;
        task->start_ticks = person->stat.start_ticks;
        task->is_kthread = person->stat.is_kthread;
        task->is_namespaced = person->status.n_nspids > 0;
        task->is_young = is_young(tree, &person->stat);
        task->name_hash = name_hash(person->stat.name);
        task->cmdline_hash = hashes.cmdline;
        task->unit_hash = hashes.unit;
        return task;
}

/* Like process_tree_add_process(). ret->stat is set whether or not the process is written. */
static Task *add_process(ProcessTree *tree, pid_t pid, Person *ret) {
        const char *text = proc_dir_read(tree->proc, pid, "stat", NULL);
        Task *task;

        ret->pid = pid;
        if (!text || !process_stat_parse(&ret->stat, text))
                return NULL;
        task = task_table_find(tree->tasks, pid);
        if (!task || task->tgid != pid || !is_still(tree, task, &ret->stat))
                task = read_person(tree, ret) ? add_person(tree, ret) : NULL;
        if (!task)
                return NULL;
        task->user_ticks = ret->stat.user_ticks;
        task->kernel_ticks = ret->stat.kernel_ticks;
        return task;
}

Task *process_tree_add_process(ProcessTree *tree, pid_t pid) {
        Person person;

        return add_process(tree, pid, &person);
}

/*
 * Threads
 */

static Task *find_thread(const ProcessTree *tree, pid_t tid, pid_t tgid) {
        Task *task = task_table_find(tree->tasks, tid);

        return task && task->tgid == tgid ? task : NULL;
}

static void add_thread(ProcessTree *tree, pid_t tid, const ProcessStatus *status) {
        Task *task;

        tree_split(tree);
        put_thread(tree, tid, status->name, status);
        if (task_table_add(tree->tasks, &task, tid) < 0)
                return;
        task_reset(task);
        task->tgid = status->tgid;
        task->name_hash = name_hash(status->name);
}

void process_tree_add_thread(ProcessTree *tree, pid_t tid) {
        ProcessStatus status;
        Task *task;

        if (!read_status(tree, tid, &status))
                return;
        if (!process_tree_add_process(tree, status.tgid) || status.tgid == tid)
                return;
        task = find_thread(tree, tid, status.tgid);
        if (!task || task->name_hash != name_hash(status.name))
                add_thread(tree, tid, &status);
}

/* Reads as little as possible to know what to say about a thread. Its name is in a file that costs a third of what
 * status does. */
static bool read_sibling(ProcessTree *tree, pid_t tid, bool is_namespaced, ProcessStatus *status) {
        const pid_t tgid = status->tgid;
        const char *text;

        if (is_namespaced)
                return read_status(tree, tid, status) && status->tgid == tgid;
        if (!tree->thread_names)
                return true;
        text = proc_dir_read(tree->proc, tid, "comm", NULL);
        if (text)
                snprintf(
                        status->name, sizeof(status->name), "%.*s", (int)strcspn(text, "\n"), text);
        return text;
}

void process_tree_add_with_threads(ProcessTree *tree, pid_t pid) {
        Person person;
        Task *process = add_process(tree, pid, &person);
        bool is_namespaced;
        ProcWalk walk;
        pid_t tid;

        if (!process || person.stat.n_threads <= 1)
                return;
        is_namespaced = process->is_namespaced;
        proc_walk_begin(&walk, tree->proc, pid);
        while ((tid = proc_walk_next(&walk))) {
                ProcessStatus status = { .tgid = pid };

                if (tid != pid && !find_thread(tree, tid, pid) &&
                    read_sibling(tree, tid, is_namespaced, &status))
                        add_thread(tree, tid, &status);
        }
        proc_walk_end(&walk);
}
