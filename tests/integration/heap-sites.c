/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program whose allocations are known, and one that does what makes it hard to watch them
 *
 * Usage: heap-sites sites | grows | stays | threads | traps | quick
 */

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((__noinline__, __noclone__))

#define LEAK_N     2000
#define LEAK_BYTES 6000 /* 12 MB */
#define CHURN_N    20000
#define PEAK_N     1000
#define BYTES      3000  /* churn: 60 MB */
#define PEAK_BYTES 16000 /* 16 MB */
#define N_THREADS  200
#define GROW_N     60
#define GROW_BYTES 50000
#define GROW_US    25000

static void *volatile kept[LEAK_N];
static void *volatile peak[PEAK_N];
static void *volatile grown[GROW_N];

#define CHECK(what)                                               \
        do {                                                      \
                if (!(what)) {                                    \
                        printf("line %d: %s\n", __LINE__, #what); \
                        exit(1);                                  \
                }                                                 \
        } while (0)

SITE static void leak_site(void) {
        for (int i = 0; i < LEAK_N; i++)
                kept[i] = malloc(LEAK_BYTES);
}

SITE static void churn_site(void) {
        for (int i = 0; i < CHURN_N; i++) {
                void *volatile memory = calloc(3, BYTES / 3);

                free(memory);
        }
}

SITE static void peak_site(void) {
        for (int i = 0; i < PEAK_N; i++)
                peak[i] = realloc(NULL, PEAK_BYTES);
        for (int i = 0; i < PEAK_N; i++)
                free(peak[i]);
}

static int run_sites(void) {
        leak_site();
        peak_site();
        churn_site();
        return 0;
}

SITE static void grow_site(int i) {
        grown[i] = malloc(GROW_BYTES);
}

/* For a second and a half. */
static int run_grows(void) {
        leak_site();
        for (int i = 0; i < GROW_N; i++) {
                grow_site(i);
                usleep(GROW_US);
        }
        return 0;
}

/* Until it is killed. */
static _Noreturn void run_stays(void) {
        for (;;) {
                churn_site();
                usleep(GROW_US);
        }
}

/*
 * Threads
 */

static void *keep_a_lot(void *name) {
        CHECK(pthread_setname_np(pthread_self(), name) == 0);
        leak_site();
        return NULL;
}

static void *free_a_lot(void *name) {
        CHECK(pthread_setname_np(pthread_self(), name) == 0);
        churn_site();
        return NULL;
}

static int run_threads(void) {
        pthread_t keeper, freer;

        CHECK(pthread_create(&keeper, NULL, keep_a_lot, (void *)"keeper") == 0);
        CHECK(pthread_create(&freer, NULL, free_a_lot, (void *)"freer") == 0);
        CHECK(pthread_join(keeper, NULL) == 0 && pthread_join(freer, NULL) == 0);
        return 0;
}

/*
 * Traps
 */

static void fill_and_free(void *memory, size_t n_bytes) {
        CHECK(memory);
        memset(memory, 0x5a, n_bytes);
        free(memory);
}

static void all_functions(void) {
        void *memory = NULL;

        fill_and_free(malloc(100), 100);
        fill_and_free(calloc(10, 10), 100);
        fill_and_free(realloc(malloc(10), 5000), 5000);
        fill_and_free(reallocarray(NULL, 10, 100), 1000);
        CHECK(posix_memalign(&memory, 4096, 100000) == 0);
        CHECK((uintptr_t)memory % 4096 == 0);
        fill_and_free(memory, 100000);
        memory = aligned_alloc(256, 65536);
        CHECK((uintptr_t)memory % 256 == 0);
        fill_and_free(memory, 65536);
        memory = memalign(65536, 65536);
        CHECK((uintptr_t)memory % 65536 == 0);
        fill_and_free(memory, 65536);
        fill_and_free(valloc(70000), 70000);
        fill_and_free(strdup("text"), 5);
        free(NULL);
        free(malloc(0));
}

static void failures(void) {
        volatile size_t too_much = PTRDIFF_MAX, n = SIZE_MAX / 2;
        void *memory = malloc(100000);

        errno = 0;
        CHECK(!malloc(too_much) && errno == ENOMEM);
        errno = 0;
        CHECK(!calloc(n, 4) && errno == ENOMEM);
        errno = 0;
        CHECK(!reallocarray(memory, n, 4) && errno == ENOMEM);
        errno = 0;
        CHECK(!realloc(memory, too_much) && errno == ENOMEM);
        fill_and_free(memory, 100000);
        errno = EBADF;
        free(malloc(300000));
        CHECK(errno == EBADF);
}

static void *allocate_a_lot(void *userdata) {
        (void)userdata;
        for (int i = 0; i < 50; i++)
                all_functions();
        return malloc(10);
}

/* Stacks as small as they may be, in memory that is the program's own. */
static void threads(void) {
        static pthread_t all[N_THREADS];
        pthread_attr_t attributes;

        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes,
                                  (size_t)sysconf(_SC_THREAD_STACK_MIN) > 16384
                                          ? (size_t)sysconf(_SC_THREAD_STACK_MIN)
                                          : 16384);
        for (int i = 0; i < N_THREADS; i++)
                CHECK(pthread_create(&all[i], &attributes, allocate_a_lot, NULL) == 0);
        for (int i = 0; i < N_THREADS; i++) {
                void *result;

                CHECK(pthread_join(all[i], &result) == 0);
                fill_and_free(result, 10);
        }
}

static void wait_for(pid_t pid) {
        int status;

        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static volatile int is_over;

static void *allocate_all_the_time(void *userdata) {
        (void)userdata;
        while (!is_over)
                all_functions();
        return NULL;
}

/* While other threads allocate, so that a lock of theirs may be held when the process is copied. */
static void forks(void) {
        pthread_t others[2];
        pid_t pid;

        for (int i = 0; i < 2; i++)
                CHECK(pthread_create(&others[i], NULL, allocate_all_the_time, NULL) == 0);
        for (int i = 0; i < 50; i++) {
                pid = fork();
                CHECK(pid >= 0);
                if (pid == 0) {
                        allocate_a_lot(NULL);
                        if (i % 2)
                                exit(7);
                        _exit(7);
                }
                wait_for(pid);
                pid = vfork();
                CHECK(pid >= 0);
                if (pid == 0) {
                        execl("/bin/sh", "sh", "-c", "exit 7", NULL);
                        _exit(1);
                }
                wait_for(pid);
        }
        is_over = 1;
        for (int i = 0; i < 2; i++)
                CHECK(pthread_join(others[i], NULL) == 0);
}

static volatile sig_atomic_t n_signals;

static void on_signal(int number) {
        (void)number;
        all_functions();
        n_signals++;
}

/* On a stack of its own. The handler must not interrupt the allocator itself, as that was never allowed. */
static void signals(void) {
        const stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
        struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

        CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
        for (int i = 0; i < 1000; i++)
                raise(SIGUSR1);
        CHECK(n_signals == 1000);
}

static void close_all(void) {
        for (int fd = 3; fd < 1024; fd++)
                close(fd);
        all_functions();
}

static int run_traps(void) {
        all_functions();
        failures();
        threads();
        forks();
        signals();
        close_all();
        allocate_a_lot(NULL);
        puts("all is well");
        return 0;
}

int main(int argc, char **argv) {
        const char *what = argc > 1 ? argv[1] : "";

        if (strcmp(what, "sites") == 0)
                return run_sites();
        if (strcmp(what, "grows") == 0)
                return run_grows();
        if (strcmp(what, "stays") == 0)
                run_stays();
        if (strcmp(what, "threads") == 0)
                return run_threads();
        if (strcmp(what, "traps") == 0)
                return run_traps();
        if (strcmp(what, "quick") == 0) {
                leak_site();
                _exit(3);
        }
        return 2;
}
