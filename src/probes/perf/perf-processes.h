/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Perf processes: what each process has mapped, by the kernel's own account
 *
 * Processes that run when a recording starts are read from /proc once. From then on mappings, forks and execs come as
 * records, so the table shows what was true when a sample was taken.
 *
 * If there is an owner, the kernel is asked for each program whether the owner may read it, by reading /proc as that
 * user (perf-identity.h); again after each exec, and once a second while the program is sampled. The answer is newer
 * than the current sample. It holds for this sample, too, unless a record that is still to be read says that the
 * process has become another program in between; in that case the process is hidden until that record comes.
 */

#include "probes/perf/perf-code.h"
#include "probes/perf/perf-records.h"
#include "probes/perf/perf-scope.h"
#include "shared/list.h"

#define PERF_PROCESSES_MAX 4096u
#define PERF_JIT_BYTES_MAX (64u << 20) /* for names of JIT code, of all processes together */
#define PERF_JIT_PERIOD_NS UINT64_C(1000000000) /* such names come while a program runs */
#define PERF_ENDED_NS      UINT64_C(1000000000) /* how long to remember that a process has ended */
#define PERF_CHECK_NS \
        UINT64_C(1000000000) /* how long an answer about who may read a program holds */

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
        uint32_t program; /* how many programs it has been */
        JitNames *jit;    /* NULL: it has written none */
        uint64_t jit_asked_ns;
        bool is_jit_loading;
        List ended; /* PerfProcesses.ended */
        uint64_t ended_ns;
} PerfProcess;

typedef struct PerfProcesses {
        PerfProcess **by_pid; /* a table with twice as many places as there may be processes */
        size_t n;
        PerfCode *code;
        const PerfScope *scope;
        bool has_owner;     /* only programs that the owner may read are shown */
        uint64_t n_refused; /* processes for which there was no room */
        size_t n_jit_bytes;
        List ended; /* the one first that ended first */
} PerfProcesses;

int perf_processes_init(PerfProcesses *processes,
                        PerfCode *code,
                        const PerfScope *scope,
                        bool has_owner);
void perf_processes_deinit(PerfProcesses *processes);

/* Asks /proc for all existing processes: 0 or a negative errno. */
int perf_processes_scan(PerfProcesses *processes);

/* The process of a sample. Returns NULL if there is no room. A new process is asked for, before those without
 * samples. */
PerfProcess *perf_processes_get(PerfProcesses *processes, pid_t pid);
/* /proc has answered. */
void perf_processes_take(PerfProcesses *processes, Load *load);

/* The process's own name for its code at this address. Returns NULL if there is none, or it is not known yet and is
 * asked for. */
const JitName *perf_processes_jit(PerfProcesses *processes,
                                  PerfProcess *process,
                                  uint64_t address,
                                  uint64_t now_ns);

/* Takes a record that is no sample. */
void perf_processes_follow(PerfProcesses *processes, const void *record, size_t n_bytes);

bool perf_process_has_ended(const PerfProcess *process);
/* Its first thread has ended, but others go on: returns the process as one that has just been found, or NULL. */
PerfProcess *perf_processes_revive(PerfProcesses *processes, PerfProcess *process);
/* Forgets processes that ended a while ago. The kernel works for a process even after the record of its end, so samples
 * may follow. */
void perf_processes_forget(PerfProcesses *processes, uint64_t now_ns);

/* Whether everything is known that must be known before its samples can be written. */
bool perf_process_is_settled(const PerfProcesses *processes, const PerfProcess *process);
/* Notes that the answer was about a later program than the one that was sampled. */
void perf_process_hide(PerfProcess *process);
/* Records were lost, one of which may have said that a process has become another program. */
void perf_processes_doubt(PerfProcesses *processes);

/* Whether the process is to be sampled. */
bool perf_process_is_in_scope(PerfProcesses *processes, PerfProcess *process);

/* Marks the files that some process has mapped. */
void perf_processes_mark(PerfProcesses *processes);
