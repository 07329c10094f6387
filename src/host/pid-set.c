/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Pid set: the threads that were seen, and which of them are new */

#include <stdlib.h>
#include <string.h>

#include "host/pid-set.h"
#include "shared/macro.h"

#define PID_SET_FRESH_FIRST 64

void pid_set_deinit(PidSet *set) {
        for (size_t i = 0; i < PID_SET_LEAVES; i++)
                free(set->leaves[i]);
        free(set->fresh);
        *set = (PidSet){};
}

static bool fresh_reserve(PidSet *set) {
        size_t n = MAX(set->n_allocated * 2, (size_t)PID_SET_FRESH_FIRST);
        pid_t *fresh;

        if (set->n_fresh < set->n_allocated)
                return true;
        fresh = reallocarray(set->fresh, n, sizeof(*fresh));
        if (!fresh)
                return false;
        set->fresh = fresh;
        set->n_allocated = n;
        return true;
}

void pid_set_insert(PidSet *set, pid_t pid) {
        uint64_t **leaf;

        if ((uint32_t)pid >= PID_SET_PIDS_MAX || !fresh_reserve(set))
                return;
        leaf = &set->leaves[pid / PID_SET_LEAF_PIDS];
        if (!*leaf)
                *leaf = calloc(PID_SET_LEAF_PIDS / 64, sizeof(uint64_t));
        if (!*leaf)
                return;
        (*leaf)[pid % PID_SET_LEAF_PIDS / 64] |= (uint64_t)1 << (pid % 64);
        set->fresh[set->n_fresh++] = pid;
}

void pid_set_remove(PidSet *set, pid_t pid) {
        if (pid_set_has(set, pid))
                set->leaves[pid / PID_SET_LEAF_PIDS][pid % PID_SET_LEAF_PIDS / 64] &=
                        ~((uint64_t)1 << (pid % 64));
}

void pid_set_clear(PidSet *set) {
        for (size_t i = 0; i < PID_SET_LEAVES; i++)
                if (set->leaves[i])
                        memset(set->leaves[i], 0, PID_SET_LEAF_PIDS / 8);
        set->n_fresh = 0;
}
