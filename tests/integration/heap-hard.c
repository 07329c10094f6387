/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program that makes it hard for a preloaded library to stay unnoticed
 *
 * Usage: heap-hard exec | plugins A B | deep PLUGIN | low-memory | fork-bomb | many-threads |
 *        descriptors FILE | async | coroutines | last-calls | profiled | takes MIB |
 *        frees-twice | frees-foreign | overflows | who
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define SITE __attribute__((__noinline__, __noclone__))

#define KEPT_N     1000
#define KEPT_BYTES 8000
#define N_THREADS  1000
#define STACK_MIN  16384
#define BOMB_DEPTH 4
#define BOMB_WIDTH 4
#define TEXT       "this file is the program's own\n"

static void *volatile kept[KEPT_N];

#define CHECK(what)                                               \
        do {                                                      \
                if (!(what)) {                                    \
                        printf("line %d: %s\n", __LINE__, #what); \
                        exit(1);                                  \
                }                                                 \
        } while (0)

static int well(void) {
        puts("all is well");
        return 0;
}

SITE static void keep_8_mb(void) {
        for (int i = 0; i < KEPT_N; i++)
                kept[i] = malloc(KEPT_BYTES);
}

SITE static void before_exec(void) {
        keep_8_mb();
        __asm__ volatile("" ::: "memory"); /* a call, not a jump */
}

SITE static void after_exec(void) {
        keep_8_mb();
        __asm__ volatile("" ::: "memory");
}

static int run_exec(const char *self) {
        before_exec();
        execl(self, self, "executed", NULL);
        return 1;
}

/*
 * Libraries that come and go
 */

static void *allocate_in(const char *path, int flags) {
        void *library = dlopen(path, RTLD_NOW | flags);
        void (*allocate)(void **memory, int n);
        void *found;

        if (!library)
                fprintf(stderr, "%s\n", dlerror());
        CHECK(library);
        found = dlsym(library, "plugin_allocate");
        CHECK(found);
        memcpy(&allocate, &found, sizeof(allocate));
        allocate((void **)kept, KEPT_N);
        return library;
}

static int run_plugins(char **paths) {
        for (int i = 0; i < 2; i++)
                CHECK(dlclose(allocate_in(paths[i], 0)) == 0);
        return well();
}

/* What its own C library has given out we free. */
static int run_deep(const char *path) {
        (void)allocate_in(path, RTLD_DEEPBIND);
        for (int i = 0; i < KEPT_N; i++)
                free(kept[i]);
        return well();
}

/*
 * Little of everything
 */

static int run_low_memory(void) {
        const struct rlimit limit = { 256u << 20, 256u << 20 };
        unsigned n_failed = 0;
        char *volatile memory;

        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
        for (int i = 0; i < 100; i++) {
                errno = 0;
                memory = malloc(16u << 20);
                if (!memory) {
                        CHECK(errno == ENOMEM);
                        n_failed++;
                } else {
                        memory[0] = 1;
                }
                memory = malloc(100);
                free(memory);
        }
        CHECK(n_failed > 0 && n_failed < 100);
        return well();
}

static void bomb(int depth) {
        for (int i = 0; i < BOMB_WIDTH && depth > 0; i++) {
                const pid_t pid = fork();

                if (pid < 0) {
                        CHECK(errno == EAGAIN || errno == ENOMEM);
                        continue;
                }
                if (pid == 0) {
                        keep_8_mb();
                        bomb(depth - 1);
                        for (int k = 0; k < KEPT_N; k++)
                                free(kept[k]);
                        _exit(0);
                }
        }
        for (int status; wait(&status) > 0;)
                CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static pthread_barrier_t all_are_there;

static void *allocate(void *userdata) {
        void *volatile memory = NULL;

        (void)userdata;
        pthread_barrier_wait(&all_are_there);
        for (int i = 1; i <= 20; i++) {
                memory = realloc(memory, (size_t)i * 100);
                memset(memory, i, (size_t)i * 100);
        }
        return memory;
}

/* All at a time, with stacks as small as they may be. */
static int run_many_threads(void) {
        static pthread_t threads[N_THREADS];
        const long least = sysconf(_SC_THREAD_STACK_MIN);
        pthread_attr_t attributes;
        void *memory;

        CHECK(pthread_barrier_init(&all_are_there, NULL, N_THREADS) == 0);
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, least > STACK_MIN ? (size_t)least : STACK_MIN);
        for (int i = 0; i < N_THREADS; i++)
                CHECK(pthread_create(&threads[i], &attributes, allocate, NULL) == 0);
        for (int i = 0; i < N_THREADS; i++) {
                CHECK(pthread_join(threads[i], &memory) == 0 && memory);
                free(memory);
        }
        return well();
}

/* Closes what it did not open, and then has its own files under the same numbers. Not within the first moments: while
 * libsystemd closes the descriptors of a message, it aborts a program that has closed them before. */
static int run_descriptors(const char *path) {
        char text[sizeof(TEXT)] = "";
        int fds[8];

        usleep(500000);
        for (int fd = 3; fd < 1024; fd++)
                close(fd);
        for (int i = 0; i < 8; i++) {
                fds[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
                CHECK(fds[i] >= 0);
        }
        CHECK(write(fds[0], TEXT, strlen(TEXT)) == (ssize_t)strlen(TEXT));
        for (int i = 0; i < 20; i++) {
                keep_8_mb();
                usleep(10000);
        }
        for (int i = 0; i < 8; i++) {
                CHECK(fcntl(fds[i], F_GETFD) == 0);
                CHECK(lseek(fds[i], 0, SEEK_END) == (off_t)strlen(TEXT));
                CHECK(pread(fds[i], text, sizeof(text), 0) == (ssize_t)strlen(TEXT));
                CHECK(strcmp(text, TEXT) == 0);
        }
        return well();
}

static volatile sig_atomic_t n_signals;

static void on_signal(int number) {
        void *volatile memory = malloc(100);

        (void)number;
        free(memory);
        n_signals++;
}

static void map_and_unmap(void) {
        void *memory =
                mmap(NULL, 256u << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        CHECK(memory != MAP_FAILED);
        CHECK(munmap(memory, 256u << 10) == 0);
}

/* The handlers allocate while the main program is in the library, but never while it is in the C library's allocator,
 * where they never could. The library itself is there when it sees a file of the program for the first time. */
static int run_async(void) {
        const struct itimerval every = { { 0, 300 }, { 0, 300 } }, never = { 0 };
        struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

        map_and_unmap();
        CHECK(sigaction(SIGALRM, &action, NULL) == 0);
        CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
        for (int i = 0; i < 1000 || n_signals < 200; i++)
                map_and_unmap();
        CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
        return well();
}

/*
 * Stacks and threads that begin and end in their own way
 */

#define N_COROUTINES    50
#define COROUTINE_BYTES 16384

static ucontext_t main_context, coroutine_contexts[N_COROUTINES];

SITE static void coroutine_site(int i) {
        kept[i] = malloc(KEPT_BYTES);
        __asm__ volatile("" ::: "memory");
}

/* Each is left in the middle, once, and is gone on with on the same stack. */
static void coroutine(int number) {
        for (int i = 0; i < KEPT_N / N_COROUTINES; i++) {
                if (i == KEPT_N / N_COROUTINES / 2)
                        CHECK(swapcontext(&coroutine_contexts[number], &main_context) == 0);
                coroutine_site(number * (KEPT_N / N_COROUTINES) + i);
        }
}

/* Their stacks lie in memory that malloc() has given out, beside each other. */
static int run_coroutines(void) {
        char *stacks = malloc(N_COROUTINES * COROUTINE_BYTES);

        CHECK(stacks);
        for (int i = 0; i < N_COROUTINES; i++) {
                CHECK(getcontext(&coroutine_contexts[i]) == 0);
                coroutine_contexts[i].uc_stack.ss_sp = stacks + i * COROUTINE_BYTES;
                coroutine_contexts[i].uc_stack.ss_size = COROUTINE_BYTES;
                coroutine_contexts[i].uc_link = &main_context;
                makecontext(&coroutine_contexts[i], (void (*)(void))coroutine, 1, i);
        }
        for (int i = 0; i < 2 * N_COROUTINES; i++)
                CHECK(swapcontext(&main_context, &coroutine_contexts[i % N_COROUTINES]) == 0);
        for (int i = 0; i < KEPT_N; i++)
                CHECK(kept[i]);
        free(stacks);
        return well();
}

static pthread_key_t key;
static atomic_int n_last_calls;

/* Comes again until there is nothing to do. */
SITE static void last_call(void *memory) {
        const int left = *(int *)memory;
        int *next = left > 0 ? malloc(KEPT_BYTES) : NULL;

        if (next)
                *next = left - 1;
        CHECK(pthread_setspecific(key, next) == 0);
        free(memory);
        n_last_calls++;
}

static void *ends_slowly(void *userdata) {
        int *memory = malloc(KEPT_BYTES);

        (void)userdata;
        *memory = 3;
        CHECK(pthread_setspecific(key, memory) == 0);
        return NULL;
}

/* What a thread allocates and frees when its own function is over. */
static int run_last_calls(void) {
        pthread_t thread;

        CHECK(pthread_key_create(&key, last_call) == 0);
        for (int i = 0; i < 200; i++) {
                CHECK(pthread_create(&thread, NULL, ends_slowly, NULL) == 0);
                CHECK(pthread_join(thread, NULL) == 0);
        }
        CHECK(n_last_calls == 800);
        return well();
}

static volatile sig_atomic_t n_ticks, n_elsewhere;

static void on_tick(int number) {
        (void)number;
        n_ticks++;
        if (syscall(SYS_gettid) != getpid())
                n_elsewhere++;
}

/* A profiler of its own, whose signals only this program's threads are to get. */
static int run_profiled(void) {
        const struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
        struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART };

        CHECK(sigaction(SIGPROF, &action, NULL) == 0);
        CHECK(setitimer(ITIMER_PROF, &every, NULL) == 0);
        while (n_ticks < 50) {
                void *volatile memory = malloc(KEPT_BYTES);

                free(memory);
        }
        CHECK(setitimer(ITIMER_PROF, &never, NULL) == 0);
        CHECK(n_elsewhere == 0);
        return well();
}

/* Touches so much memory, in small pieces, and ends; or is ended by who says how much it may have. */
SITE static int run_takes(const char *mib) {
        for (long n = atol(mib) << 7; n > 0; n--) {
                char *volatile memory = malloc(8192 - 16);

                CHECK(memory);
                memset(memory, 1, 8192 - 16);
        }
        return well();
}

/*
 * What the C library ends a program for
 */

static int run_frees_twice(void) {
        void *volatile memory = malloc(100);

        free(memory);
        free(memory);
        return 0;
}

static int run_frees_foreign(void) {
        static char mine[64];
        char *volatile memory = mine + 8;

        free(memory);
        return 0;
}

static int run_overflows(void) {
        char *volatile first = malloc(5000), *volatile second = malloc(5000);

        memset(first, 0x7f, 5100);
        free(first);
        free(second);
        return 0;
}

static int run_who(void) {
        printf("%d %d\n", (int)getuid(), (int)geteuid());
        keep_8_mb();
        return 0;
}

static int run_fork_bomb(void) {
        bomb(BOMB_DEPTH);
        return well();
}

int main(int argc, char **argv) {
        static const struct {
                const char *name;
                int (*run)(void);
        } all[] = {
                { "low-memory", run_low_memory },
                { "fork-bomb", run_fork_bomb },
                { "many-threads", run_many_threads },
                { "async", run_async },
                { "coroutines", run_coroutines },
                { "last-calls", run_last_calls },
                { "profiled", run_profiled },
                { "frees-twice", run_frees_twice },
                { "frees-foreign", run_frees_foreign },
                { "overflows", run_overflows },
                { "who", run_who },
        };
        const char *what = argc > 1 ? argv[1] : "";

        if (strcmp(what, "exec") == 0)
                return run_exec(argv[0]);
        if (strcmp(what, "executed") == 0) {
                after_exec();
                return well();
        }
        if (strcmp(what, "plugins") == 0 && argc == 4)
                return run_plugins(argv + 2);
        if (strcmp(what, "deep") == 0 && argc == 3)
                return run_deep(argv[2]);
        if (strcmp(what, "descriptors") == 0 && argc == 3)
                return run_descriptors(argv[2]);
        if (strcmp(what, "takes") == 0 && argc == 3)
                return run_takes(argv[2]);
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
                if (strcmp(what, all[i].name) == 0)
                        return all[i].run();
        return 2;
}
