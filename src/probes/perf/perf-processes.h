/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf processes: what each process has mapped, by the kernel's own account
 *
 * Those that run when a recording starts are read from /proc once. From then on mappings, forks and execs come as
 * records, so what is known is what was true when a sample was taken.
 */

#include "probes/perf/perf-code.h"
#include "probes/perf/perf-records.h"
#include "probes/perf/perf-scope.h"

#define PERF_PROCESSES_MAX 4096u

typedef struct PerfProcess {
        pid_t pid;
        AddressSpace space;
        bool is_asked;  /* /proc was asked for it */
        bool is_known;  /* since its fork or exec, or from /proc */
        bool is_judged; /* whether it is in scope */
        bool is_in_scope;
        char *command; /* NULL: not known */
} PerfProcess;

typedef struct PerfProcesses {
        PerfProcess **by_pid; /* a table with twice as many places as there may be processes */
        size_t n;
        PerfCode *code;
        const PerfScope *scope;
        uint64_t n_refused; /* processes that were one too many */
} PerfProcesses;

int perf_processes_init(PerfProcesses *processes, PerfCode *code, const PerfScope *scope);
void perf_processes_deinit(PerfProcesses *processes);

/* Asks /proc for all that there are: 0 or a negative errno. */
int perf_processes_scan(PerfProcesses *processes);

/* NULL: there is no room. One that is new is asked for. */
PerfProcess *perf_processes_get(PerfProcesses *processes, pid_t pid);
/* /proc has answered. */
void perf_processes_take(PerfProcesses *processes, Load *load);

/* A record that is no sample. */
void perf_processes_follow(PerfProcesses *processes, const void *record, size_t n_bytes);

/* Whether it is to be sampled. */
bool perf_process_is_in_scope(PerfProcesses *processes, PerfProcess *process);

/* Marks the files that some process has mapped. */
void perf_processes_mark(PerfProcesses *processes);
