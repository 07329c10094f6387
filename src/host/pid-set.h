/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Pid set: the threads that were seen, and which of them are new
 *
 * It is looked up for each scheduling event, so a lookup costs one bit test: the bits lie in leaves that are allocated
 * when their first pid appears. The pids added since the last pid_set_clear_fresh() are also kept as a list.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PID_SET_PIDS_MAX  (1 << 22) /* the kernel's PID_MAX_LIMIT */
#define PID_SET_LEAF_PIDS 4096
#define PID_SET_LEAVES    (PID_SET_PIDS_MAX / PID_SET_LEAF_PIDS)

typedef struct PidSet {
        uint64_t *leaves[PID_SET_LEAVES];
        pid_t *fresh;
        size_t n_fresh, n_allocated;
} PidSet;

void pid_set_deinit(PidSet *set);

/* For pid_set_add(). Without memory the pid is not added; a later event adds it. */
void pid_set_insert(PidSet *set, pid_t pid);

static inline bool pid_set_has(const PidSet *set, pid_t pid) {
        const uint64_t *leaf;

        if ((uint32_t)pid >= PID_SET_PIDS_MAX)
                return false;
        leaf = set->leaves[pid / PID_SET_LEAF_PIDS];
        return leaf && leaf[pid % PID_SET_LEAF_PIDS / 64] >> (pid % 64) & 1;
}

/* Pids of 0 (idle) and beyond the kernel's limit are ignored. */
static inline void pid_set_add(PidSet *set, pid_t pid) {
        if (!pid_set_has(set, pid) && pid > 0)
                pid_set_insert(set, pid);
}

/* The pid was reused by another thread: it counts as new when it is seen again. */
void pid_set_remove(PidSet *set, pid_t pid);

static inline void pid_set_clear_fresh(PidSet *set) {
        set->n_fresh = 0;
}

/* Forgets all. */
void pid_set_clear(PidSet *set);
