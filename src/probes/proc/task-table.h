/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Task table: what one recording has said about which threads
 *
 * A task is identified by its tid and its start time: when a tid comes back with another start time it is somebody
 * else, and what was said about it before does not count.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probes/proc/process-status.h"

typedef struct Task {
        pid_t tid; /* 0: a free slot */
        pid_t tgid;
        uint64_t start_ticks; /* of processes; 0 for other threads */
        bool is_kthread;
        uint32_t seen;            /* the last scan that met the process */
        ProcessCounters counters; /* as last written */
} Task;

/* Bounded by the kernel's own limit on pids. */
typedef struct TaskTable {
        Task *slots;
        size_t n_slots; /* a power of two, at least twice n_tasks */
        size_t n_tasks;
} TaskTable;

void task_table_deinit(TaskTable *table);
Task *task_table_find(const TaskTable *table, pid_t tid);

/* Finds or adds. The task stays where it is until the next add or prune. 0, -ENOMEM. */
int task_table_add(TaskTable *table, Task **ret, pid_t tid);

/* Removes all tasks whose process was not met by scan `seen`. */
void task_table_prune(TaskTable *table, uint32_t seen);
void task_table_clear(TaskTable *table);

/* Forgets what was written of the counters, so that all are written again. */
void task_table_forget_counters(TaskTable *table);
