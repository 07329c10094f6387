/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A process that writes to a kept buffer is killed: at whatever point that happens, the buffer is consistent. */

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "buffer-deeds.h"

#define N_KILLS      100
#define KILL_STEP_NS 700 /* how much longer each child lives than the one before */

/* What libcheck calls whenever an assertion holds (--wrap) writes to a file that the test shares with its children: one
 * that is killed in the middle of a message would spoil all that follow. */
static bool is_child;

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line) {
        if (!is_child)
                __real__mark_point(file, line);
}

/* By a clock of the kernel's: another process would have to get a turn first. */
static void die_after(long n_ns) {
        struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
        timer_t timer;

        if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
            timer_settime(timer, 0, &(struct itimerspec){ .it_value.tv_nsec = n_ns }, NULL) < 0)
                abort();
}

static void kill_one(World *world, long n_ns) {
        TraceBuffer *buffer;
        int status;
        pid_t pid;

        world_make_files(world);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                is_child = true;
                buffer = world_adopt(world);
                die_after(n_ns);
                live(world->progress, buffer);
                for (;;)
                        pause();
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSIGNALED(status));
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);
}

START_TEST(test_buffer_is_whole_when_its_process_is_killed) {
        static World world;
        unsigned n_within = 0;

        world_init(&world);
        for (long i = 1; i <= N_KILLS; i++) {
                _cleanup_(trace_buffer_freep) TraceBuffer *adopted = NULL;

                kill_one(&world, i * KILL_STEP_NS);
                n_within += world.progress->n_begun > world.progress->n_ended;
                adopted = world_adopt(&world);
                world_check(&world, adopted);
        }
        printf("# %u of %u were killed within a deed\n", n_within, N_KILLS);
}
END_TEST

TEST_MAIN("buffer-adopt", test_buffer_is_whole_when_its_process_is_killed)
