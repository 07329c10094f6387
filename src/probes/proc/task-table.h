/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Task table: what one recording has said about which threads
 *
 * A task is identified by its tid and its start time. When a tid comes back with another start time, it belongs to
 * another task, and what was said about the first one does not count.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/proc/process-status.h"

typedef struct Task {
        pid_t tid; /* 0: a free slot */
        pid_t tgid;
        uint64_t start_ticks;              /* of processes; 0 for other threads */
        uint64_t user_ticks, kernel_ticks; /* of processes, when they were last read */
        bool is_kthread;
        bool is_namespaced; /* has other pids in inner namespaces */
        bool is_young; /* was young when it was written: it may still run its program, and be put into a unit */
        uint32_t name_hash;               /* of its name when it was written */
        uint32_t cmdline_hash, unit_hash; /* likewise, of its arguments and its cgroup */
        uint32_t seen;                    /* the last scan that met the process */

        /* The counters that were last written; NULL before that. Owned by the table. */
        ProcessCounters *counters;
} Task;

/* If there are more, all are forgotten, and written again when they are met again. In a recording that goes on for
 * days, most of them have ended. */
#define TASK_TABLE_TASKS_MAX (1u << 18)

typedef struct TaskTable {
        Task *slots;
        size_t n_slots; /* a power of two, at least twice n_tasks */
        size_t n_tasks;
} TaskTable;

void task_table_deinit(TaskTable *table);
Task *task_table_find(const TaskTable *table, pid_t tid);

/* Finds the task or adds it. It stays in place until the next add or prune. Returns 0 or -ENOMEM. */
int task_table_add(TaskTable *table, Task **ret, pid_t tid);

/* The tid belongs to another task: it starts over as if it had just been added. */
void task_reset(Task *task);

/* Removes all tasks whose process was not met by scan `seen`. */
void task_table_prune(TaskTable *table, uint32_t seen);
void task_table_clear(TaskTable *table);

/* Forgets which counters were written, so that all are written again. */
void task_table_forget_counters(TaskTable *table);
