/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* An open hash table. Single tasks are never removed, only pruned, and pruning rebuilds the table. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/proc/task-table.h"
#include "shared/macro.h"

#define TASK_TABLE_FIRST 256

void task_table_deinit(TaskTable *table) {
        task_table_clear(table);
        free(table->slots);
        *table = (TaskTable){};
}

/* The task's slot, or the free one where it belongs. */
static Task *find_slot(const TaskTable *table, pid_t tid) {
        size_t i = (uint32_t)tid * 2654435761u;

        for (;; i++) {
                Task *slot = &table->slots[i & (table->n_slots - 1)];

                if (slot->tid == tid || slot->tid == 0)
                        return slot;
        }
}

Task *task_table_find(const TaskTable *table, pid_t tid) {
        Task *slot;

        if (table->n_slots == 0 || tid <= 0)
                return NULL;
        slot = find_slot(table, tid);
        return slot->tid == tid ? slot : NULL;
}

/* Moves the tasks that `keep` allows into a table of `n_slots`. */
static int rebuild(TaskTable *table,
                   size_t n_slots,
                   bool (*keep)(const TaskTable *, const Task *, uint32_t),
                   uint32_t seen) {
        TaskTable new = { .n_slots = n_slots, .slots = calloc(n_slots, sizeof(Task)) };

        if (!new.slots)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_slots; i++) {
                const Task *task = &table->slots[i];

                if (task->tid == 0)
                        continue;
                if (keep && !keep(table, task, seen)) {
                        free(task->counters);
                        continue;
                }
                *find_slot(&new, task->tid) = *task;
                new.n_tasks++;
        }
        free(table->slots);
        *table = new;
        return 0;
}

int task_table_add(TaskTable *table, Task **ret, pid_t tid) {
        Task *slot;
        int r;

        if (tid <= 0)
                return -EINVAL;
        if (table->n_tasks >= TASK_TABLE_TASKS_MAX)
                task_table_clear(table);
        if ((table->n_tasks + 1) * 2 > table->n_slots) {
                r = rebuild(table, MAX(table->n_slots * 2, (size_t)TASK_TABLE_FIRST), NULL, 0);
                if (r < 0)
                        return r;
        }
        slot = find_slot(table, tid);
        if (slot->tid == 0) {
                *slot = (Task){ .tid = tid };
                table->n_tasks++;
        }
        *ret = slot;
        return 0;
}

void task_reset(Task *task) {
        free(task->counters);
        *task = (Task){ .tid = task->tid };
}

static bool process_was_seen(const TaskTable *table, const Task *task, uint32_t seen) {
        const Task *process = task_table_find(table, task->tgid);

        return process && process->seen == seen;
}

void task_table_prune(TaskTable *table, uint32_t seen) {
        if (table->n_slots > 0)
                (void)rebuild(table,
                              table->n_slots,
                              process_was_seen,
                              seen); /* if this fails, it is done next time */
}

void task_table_clear(TaskTable *table) {
        for (size_t i = 0; i < table->n_slots; i++)
                free(table->slots[i].counters);
        if (table->n_slots > 0)
                memset(table->slots, 0, table->n_slots * sizeof(*table->slots));
        table->n_tasks = 0;
}

void task_table_forget_counters(TaskTable *table) {
        for (size_t i = 0; i < table->n_slots; i++)
                if (table->slots[i].counters)
                        table->slots[i].counters->known = 0;
}
