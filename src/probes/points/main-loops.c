/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Main loops: turns of a program's first thread that took too long */

#include <errno.h>
#include <stdlib.h>

#include "probes/points/main-loops.h"

#define NEIGHBOURS 8

int main_loops_init(MainLoops *loops, uint64_t stall_ns) {
        loops->stall_ns = stall_ns;
        loops->loops = calloc(LOOP_THREADS_MAX, sizeof(*loops->loops));
        return loops->loops ? 0 : -ENOMEM;
}

void main_loops_deinit(MainLoops *loops) {
        free(loops->loops);
        *loops = (MainLoops){};
}

/* The thread's entry, or else the one of its neighbours that has not been used for longest. */
static MainLoop *take(MainLoops *loops, pid_t tid, uint64_t at_ns) {
        MainLoop *oldest = NULL;

        for (unsigned i = 0; i < NEIGHBOURS; i++) {
                MainLoop *loop = &loops->loops[((unsigned)tid + i) % LOOP_THREADS_MAX];

                if (loop->tid == tid) {
                        loop->used_ns = at_ns;
                        return loop;
                }
                if (!oldest || loop->used_ns < oldest->used_ns)
                        oldest = loop;
        }
        *oldest = (MainLoop){ .tid = tid, .used_ns = at_ns };
        return oldest;
}

bool main_loops_wait(MainLoops *loops, pid_t tid, uint64_t at_ns, uint64_t *ret_ns) {
        MainLoop *loop = take(loops, tid, at_ns);
        uint64_t began_ns = loop->awake_ns;
        bool is_loop = loop->n_turns >= LOOP_TURNS_MIN;

        loop->awake_ns = 0;
        if (began_ns == 0 || at_ns - began_ns > LOOP_TURN_MAX_NS) {
                loop->n_turns = 0;
                return false;
        }
        loop->n_turns++;
        *ret_ns = began_ns;
        return is_loop && at_ns - began_ns >= loops->stall_ns;
}

void main_loops_wake(MainLoops *loops, pid_t tid, uint64_t at_ns) {
        take(loops, tid, at_ns)->awake_ns = at_ns;
}

void main_loops_forget(MainLoops *loops) {
        for (size_t i = 0; i < LOOP_THREADS_MAX; i++)
                loops->loops[i].awake_ns = 0;
}
