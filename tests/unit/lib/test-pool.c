/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/pool.h"
#include "test.h"

#define N_SIZES 200

/* 1, 2, …, and far beyond what is cut off from blocks. */
static size_t size_of(unsigned i) {
        return 1 + (size_t)i * i * i / 16;
}

static unsigned char *new_filled(size_t n_bytes, unsigned char with) {
        unsigned char *memory = pool_new(n_bytes);

        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < n_bytes; i++)
                if (memory[i] != 0)
                        ck_abort_msg("not zero");
        memset(memory, with, n_bytes);
        return memory;
}

static void check_and_free(unsigned char *memory, size_t n_bytes, unsigned char with) {
        for (size_t i = 0; i < n_bytes; i++)
                if (memory[i] != with)
                        ck_abort_msg("overwritten");
        ck_assert_ptr_null(pool_free(memory));
}

START_TEST(test_pieces_are_apart_aligned_and_zero_also_when_used_again) {
        for (unsigned round = 0; round < 3; round++) {
                unsigned char *pieces[N_SIZES];

                for (unsigned i = 0; i < N_SIZES; i++)
                        pieces[i] = new_filled(size_of(i), (unsigned char)(i + 1));
                for (unsigned i = 0; i < N_SIZES; i++)
                        check_and_free(pieces[i], size_of(i), (unsigned char)(i + 1));
        }
        ck_assert_ptr_null(pool_free(NULL));
}
END_TEST

START_TEST(test_what_is_freed_is_used_again) {
        void *first = pool_take(100), *second;

        pool_free(first);
        second = pool_take(100);
        ck_assert_ptr_eq(first, second);
        pool_free(second);
}
END_TEST

/* Pieces of the pool's blocks are kept for the next taker, whatever lies on pages of its own is not. */
START_TEST(test_a_large_piece_is_given_back_to_the_kernel) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE), n_bytes = 64 * page;
        char *memory = pool_take(n_bytes);
        char *begin = (char *)((uintptr_t)memory / page * page);

        ck_assert_ptr_nonnull(memory);
        ck_assert_int_eq(msync(begin, page, MS_ASYNC), 0);
        pool_free(memory);
        ck_assert_int_eq(msync(begin, page, MS_ASYNC), -1);
        ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

START_TEST(test_too_much_is_refused_and_errno_stays) {
        errno = EPERM;
        ck_assert_ptr_null(pool_new(SIZE_MAX - 65536));
        ck_assert_ptr_null(pool_new(SIZE_MAX));
        ck_assert_int_eq(errno, EPERM);
}
END_TEST

static void take_and_free(void) {
        for (unsigned i = 0; i < 100; i++) {
                uint64_t *memory = pool_new(8 * (1 + i));

                if (memory) /* else it has interrupted its own thread */
                        *memory = i;
                pool_free(memory);
        }
}

static void on_signal(int signal) {
        take_and_free();
}

static void *run(void *userdata) {
        for (unsigned i = 0; i < 2000; i++)
                take_and_free();
        return NULL;
}

START_TEST(test_threads_and_signal_handlers_share_it) {
        const struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { 0 };
        const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
        pthread_t threads[4];

        ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
        ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
        for (unsigned i = 0; i < 4; i++)
                ck_assert_int_eq(pthread_create(&threads[i], NULL, run, NULL), 0);
        for (unsigned i = 0; i < 4; i++)
                pthread_join(threads[i], NULL);
        ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
}
END_TEST

/* In place of a signal handler that interrupts its thread in the pool, where that asks the kernel for a block. */
static bool is_interrupted;
static unsigned n_interruptions;

void *__real_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap64(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
        if (is_interrupted) {
                n_interruptions++;
                ck_assert_ptr_null(pool_take(100));
        }
        return __real_mmap64(at, n, prot, flags, fd, offset);
}

START_TEST(test_a_handler_that_interrupts_its_thread_in_the_pool_gets_nothing) {
        is_interrupted = true;
        for (unsigned i = 0; i < 1000 && n_interruptions == 0; i++)
                ck_assert_ptr_nonnull(pool_take(10000));
        is_interrupted = false;
        ck_assert_uint_eq(n_interruptions, 1);
        ck_assert_ptr_nonnull(pool_take(100));
}
END_TEST

static atomic_bool is_over;

static void *run_on(void *userdata) {
        while (!is_over)
                take_and_free();
        return NULL;
}

START_TEST(test_a_forked_child_does_not_wait_for_its_parents_threads) {
        pthread_t threads[3];

        for (unsigned i = 0; i < 3; i++)
                ck_assert_int_eq(pthread_create(&threads[i], NULL, run_on, NULL), 0);
        for (unsigned i = 0; i < 200; i++) {
                pid_t pid = fork();
                int status;

                ck_assert_int_ge(pid, 0);
                if (pid == 0) {
                        pool_after_fork();
                        take_and_free();
                        _exit(0);
                }
                ck_assert_int_eq(waitpid(pid, &status, 0), pid);
                ck_assert_int_eq(status, 0);
        }
        is_over = true;
        for (unsigned i = 0; i < 3; i++)
                pthread_join(threads[i], NULL);
}
END_TEST

TEST_MAIN("pool",
          test_pieces_are_apart_aligned_and_zero_also_when_used_again,
          test_what_is_freed_is_used_again,
          test_a_large_piece_is_given_back_to_the_kernel,
          test_too_much_is_refused_and_errno_stays,
          test_threads_and_signal_handlers_share_it,
          test_a_handler_that_interrupts_its_thread_in_the_pool_gets_nothing,
          test_a_forked_child_does_not_wait_for_its_parents_threads)
