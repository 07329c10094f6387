/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A child traces this thread and lets it run one instruction at a time. That is slow and exact, sees the
 * kernel's clock page, too, and needs no counter of the CPU, which virtual machines often lack. What differs
 * between a short and a long burst is that of the events alone.
 */

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"
#include "shared/macro.h"

#define N_SHORT 10
#define N_LONG  60
#define N_TRIES 3 /* the clock is read again when the kernel has changed it meanwhile */

typedef enum Step {
        STEP_WAIT,    /* the child is not there yet */
        STEP_REFUSED, /* the kernel does not let it trace */
        STEP_READY,
        STEP_COUNT,
        STEP_DONE,
} Step;

typedef struct Stepping {
        _Atomic int step;
        _Atomic uint64_t n;
} Stepping;

static bool wait_stop(pid_t tid, int *ret_signal) {
        int status;

        if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
                return false;
        *ret_signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        return true;
}

static void step_through(Stepping *stepping, pid_t tid) {
        int signal_number;

        if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0 || ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0 ||
            !wait_stop(tid, &signal_number)) {
                atomic_store(&stepping->step, STEP_REFUSED);
                return;
        }
        atomic_store(&stepping->step, STEP_READY);
        signal_number = 0;
        while (atomic_load(&stepping->step) != STEP_DONE) {
                if (ptrace(PTRACE_SINGLESTEP, tid, 0, (long)signal_number) < 0 ||
                    !wait_stop(tid, &signal_number))
                        return;
                if (atomic_load(&stepping->step) == STEP_COUNT)
                        atomic_fetch_add(&stepping->n, 1);
        }
        ptrace(PTRACE_DETACH, tid, 0, 0);
}

/* Instructions of a burst and a few that are always the same; 0: refused. */
static uint64_t count_burst(Stepping *stepping, Burst burst, unsigned n) {
        pid_t tid = getpid(); /* the main thread's */
        int pipe_fds[2];
        pid_t child;
        char byte;

        *stepping = (Stepping){};
        if (pipe(pipe_fds) < 0)
                return 0;
        child = fork();
        if (child == 0) {
                if (read(pipe_fds[0], &byte, 1) == 1)
                        step_through(stepping, tid);
                _exit(0);
        }
        if (child < 0)
                return 0;
        prctl(PR_SET_PTRACER, child); /* where Yama wants to know */
        if (write(pipe_fds[1], "", 1) == 1)
                while (atomic_load(&stepping->step) == STEP_WAIT)
                        sched_yield();
        if (atomic_load(&stepping->step) == STEP_READY) {
                atomic_store(&stepping->step, STEP_COUNT);
                burst(n);
                atomic_store(&stepping->step, STEP_DONE);
        }
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        waitpid(child, NULL, 0);
        return atomic_load(&stepping->n);
}

static double count_event(Stepping *stepping, Burst burst) {
        double least = -1;

        for (unsigned i = 0; i < N_TRIES; i++) {
                uint64_t n_short = count_burst(stepping, burst, N_SHORT);
                uint64_t n_long = count_burst(stepping, burst, N_LONG);
                double n = (double)(int64_t)(n_long - n_short) / (N_LONG - N_SHORT);

                if (n_short == 0 || n_long == 0)
                        return -1;
                least = least < 0 || n < least ? n : least;
        }
        return least;
}

double instructions_of(Burst burst) {
        Stepping *stepping;
        cpu_set_t before, one;
        double n;

        stepping = mmap(
                NULL, sizeof(*stepping), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (stepping == MAP_FAILED)
                return -1;
        /* To take turns on one CPU is faster than to wake another. */
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_getaffinity(0, sizeof(before), &before);
        sched_setaffinity(0, sizeof(one), &one);
        burst(N_LONG); /* what is said at first */
        n = count_event(stepping, burst);
        sched_setaffinity(0, sizeof(before), &before);
        munmap(stepping, sizeof(*stepping));
        world_drain();
        return n;
}
