/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf processes: what each process has mapped, by the kernel's own account
 *
 * Those that run when a recording starts are read from /proc once. From then on mappings, forks and execs come as
 * records, so what is known is what was true when a sample was taken.
 *
 * Where there is an owner, the kernel is asked of each program whether the owner may read it, by reading /proc with the
 * owner's eyes (perf-identity.h); again after each exec, and once a second while it is sampled. The answer is newer
 * than the sample at hand. It holds for that as well if no record that is still to be read says that the process has
 * become another program in between; else it is hidden until that record comes.
 */

#include "probes/perf/perf-code.h"
#include "probes/perf/perf-records.h"
#include "probes/perf/perf-scope.h"

#define PERF_PROCESSES_MAX 4096u
#define PERF_JIT_BYTES_MAX (64u << 20)          /* of names of JIT code, of all processes */
#define PERF_JIT_PERIOD_NS UINT64_C(1000000000) /* such names come while a program runs */
#define PERF_CHECK_NS      UINT64_C(1000000000) /* for how long it is believed who may read a program */

typedef struct PerfProcess {
        pid_t pid;
        AddressSpace space;
        bool is_asked;    /* /proc was asked for it */
        bool is_urgent;   /* and a sample waits for the answer */
        bool is_known;    /* since its fork or exec, or from /proc */
        bool is_checked;  /* whether the owner may read it */
        bool is_readable; /* and so it may be shown */
        uint64_t checked_ns;
        bool is_judged; /* whether it is in scope */
        bool is_in_scope;
        char *command;    /* NULL: not known */
        char *cgroup;     /* likewise; only where units are asked for */
        uint32_t program; /* how many it has been */
        JitNames *jit;    /* NULL: it has told none */
        uint64_t jit_asked_ns;
        bool is_jit_loading;
} PerfProcess;

typedef struct PerfProcesses {
        PerfProcess **by_pid; /* a table with twice as many places as there may be processes */
        size_t n;
        PerfCode *code;
        const PerfScope *scope;
        bool has_owner;     /* only what the owner may read is shown */
        uint64_t n_refused; /* processes that were one too many */
        size_t n_jit_bytes;
} PerfProcesses;

int perf_processes_init(PerfProcesses *processes,
                        PerfCode *code,
                        const PerfScope *scope,
                        bool has_owner);
void perf_processes_deinit(PerfProcesses *processes);

/* Asks /proc for all that there are: 0 or a negative errno. */
int perf_processes_scan(PerfProcesses *processes);

/* The process of a sample. NULL: there is no room. One that is new is asked for, before those that have no sample. */
PerfProcess *perf_processes_get(PerfProcesses *processes, pid_t pid);
/* /proc has answered. */
void perf_processes_take(PerfProcesses *processes, Load *load);

/* What the process calls its code at this address; NULL: nothing, or not yet, and then it is asked for. */
const JitName *perf_processes_jit(PerfProcesses *processes,
                                  PerfProcess *process,
                                  uint64_t address,
                                  uint64_t now_ns);

/* A record that is no sample. */
void perf_processes_follow(PerfProcesses *processes, const void *record, size_t n_bytes);

/* Whether all is known that has to be known before it is sampled. */
bool perf_process_is_settled(const PerfProcesses *processes, const PerfProcess *process);
/* The answer was of a later program than the one that was sampled. */
void perf_process_hide(PerfProcess *process);
/* Something was lost: it may have been that a process has become another program. */
void perf_processes_doubt(PerfProcesses *processes);

/* Whether it is to be sampled. */
bool perf_process_is_in_scope(PerfProcesses *processes, PerfProcess *process);

/* Marks the files that some process has mapped. */
void perf_processes_mark(PerfProcesses *processes);
