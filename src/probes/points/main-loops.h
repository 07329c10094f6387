/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Main loops: turns of a program's first thread that took too long
 *
 * Every main loop waits in poll() or a similar call, whatever the toolkit. So a turn is the time between the end of one
 * wait and the beginning of the next. The time of the wait is no work and never counts. A thread that has waited only
 * once or twice has no loop, and a thread that does not come back for very long has left its loop. The memory is fixed.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOOP_THREADS_MAX 4096 /* beyond that, the ones not seen for longest are forgotten */
#define LOOP_TURNS_MIN   3
#define LOOP_TURN_MAX_NS UINT64_C(30000000000)

typedef struct MainLoop {
        pid_t tid;
        unsigned n_turns;
        uint64_t used_ns;
        uint64_t awake_ns; /* when its last wait ended; 0: it waits, or this is not known */
} MainLoop;

typedef struct MainLoops {
        MainLoop *loops;
        uint64_t stall_ns; /* a turn that lasts this long is too long */
} MainLoops;

/* Returns 0 or -ENOMEM. */
int main_loops_init(MainLoops *loops, uint64_t stall_ns);
void main_loops_deinit(MainLoops *loops);

/* A thread begins to wait. Returns true if this ends a turn that was a stall, which began at `*ret_ns`. */
bool main_loops_wait(MainLoops *loops, pid_t tid, uint64_t at_ns, uint64_t *ret_ns);
/* A thread resumes. */
void main_loops_wake(MainLoops *loops, pid_t tid, uint64_t at_ns);
/* Records were lost, so nobody knows who is waiting. */
void main_loops_forget(MainLoops *loops);
