/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Main loops: turns of a program's first thread that took too long
 *
 * Every main loop waits in poll() or one of its kin, so a turn is what is between the end of one wait and the beginning
 * of the next, whatever toolkit it is. Time in the wait is no work and never counts. A thread that has waited only once
 * or twice has no loop, and one that does not come back for very long has left it. Memory is fixed.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOOP_THREADS_MAX 4096 /* beyond, those that have not been seen for longest are forgotten */
#define LOOP_TURNS_MIN   3
#define LOOP_TURN_MAX_NS UINT64_C(30000000000)

typedef struct MainLoop {
        pid_t tid;
        unsigned n_turns;
        uint64_t used_ns;
        uint64_t awake_ns; /* since when it has not waited; 0: it waits, or that is not known */
} MainLoop;

typedef struct MainLoops {
        MainLoop *loops;
        uint64_t stall_ns; /* from which on a turn is too long */
} MainLoops;

/* 0 or -ENOMEM. */
int main_loops_init(MainLoops *loops, uint64_t stall_ns);
void main_loops_deinit(MainLoops *loops);

/* A thread begins to wait. True if the turn that this ends was a stall, which began at `*ret_ns`. */
bool main_loops_wait(MainLoops *loops, pid_t tid, uint64_t at_ns, uint64_t *ret_ns);
/* A thread resumes. */
void main_loops_wake(MainLoops *loops, pid_t tid, uint64_t at_ns);
/* Records were lost: nobody knows who waits. */
void main_loops_forget(MainLoops *loops);
