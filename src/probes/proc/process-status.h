/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Process status: what /proc/PID/{status,stat,smaps_rollup,…} say about one process
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_NAME_BYTES 64 /* kernel threads have names longer than 15 */
#define PROCESS_NSPIDS_MAX 8

/* Counters, in the order of the table in process-status.c. */
typedef enum ProcessCounter {
        PROCESS_VM_SIZE,
        PROCESS_VM_RSS,
        PROCESS_RSS_ANON,
        PROCESS_RSS_FILE,
        PROCESS_RSS_SHMEM,
        PROCESS_VM_SWAP,
        PROCESS_VM_LOCKED,
        PROCESS_VM_HWM,
        PROCESS_OOM_SCORE_ADJ,
        PROCESS_SMAPS_RSS,
        PROCESS_SMAPS_PSS,
        PROCESS_SMAPS_PSS_ANON,
        PROCESS_SMAPS_PSS_FILE,
        PROCESS_SMAPS_PSS_SHMEM,
        PROCESS_SMAPS_SWAP_PSS,
        PROCESS_RUNTIME_USER,
        PROCESS_RUNTIME_KERNEL,
        _PROCESS_COUNTER_N,
} ProcessCounter;

typedef struct ProcessCounters {
        int64_t values[_PROCESS_COUNTER_N];
        uint32_t known; /* bits by ProcessCounter */
} ProcessCounters;

typedef struct ProcessStatus {
        char name[PROCESS_NAME_BYTES];
        pid_t tgid;
        uid_t uid;
        pid_t nspids[PROCESS_NSPIDS_MAX]; /* in the inner pid namespaces, outermost first */
        size_t n_nspids;
        ProcessCounters counters;
} ProcessStatus;

typedef struct ProcessStat {
        char name[PROCESS_NAME_BYTES];
        pid_t ppid;
        bool is_kthread;
        uint64_t n_threads;
        uint64_t start_ticks; /* since boot: together with the pid, this identifies a process */
        uint64_t user_ticks, kernel_ticks;
} ProcessStat;

/* Field of ProcessStats.Process. */
uint32_t process_counter_field(ProcessCounter counter);

static inline void
process_counters_set(ProcessCounters *counters, ProcessCounter counter, int64_t value) {
        counters->values[counter] = value;
        counters->known |= 1u << counter;
}

/* Reads PID/status. Returns false if it has no Tgid. */
bool process_status_parse(ProcessStatus *ret, const char *text);
/* Reads PID/stat. Returns false if it is cut off. The name in it may contain anything, even parentheses and
 * newlines. */
bool process_stat_parse(ProcessStat *ret, const char *text);
/* PID/smaps_rollup. */
void process_smaps_parse(ProcessCounters *counters, const char *text);
