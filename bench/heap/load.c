/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program whose allocations are known, for heap.py
 *
 * It is linked to nothing of ours, so it is the same with and without libdesktrace-heap.so.
 */

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_PAIRS   10000000
#define N_LIVE    1024
#define SITE_MIB  10
#define TREE_MAX  14 /* 2^14 call stacks */
#define N_WRITTEN 5  /* dumps that are waited for */

#define SITE __attribute__((__noinline__, __noclone__))

static void *kept; /* what nobody frees is still referred to */

/* What compilers would leave out. */
static void keep(void *memory) {
        *(void **)memory = kept;
        kept = memory;
}

static double user_ns(int who) {
        struct rusage usage;

        getrusage(who, &usage);
        return (double)usage.ru_utime.tv_sec * 1e9 + (double)usage.ru_utime.tv_usec * 1e3;
}

/* ns of malloc() and free(), of 16 to 256 bytes, of which 1,024 are there at a time. */
static int run_pairs(void) {
        static void *live[N_LIVE];
        uint32_t state = 1;
        double begin = user_ns(RUSAGE_SELF);

        for (int i = 0; i < N_PAIRS; i++) {
                void **place;

                state = state * 1664525 + 1013904223;
                place = &live[state >> 22];
                free(*place);
                *place = malloc(16 + (state >> 8) % 241);
        }
        printf("%.2f\n", (user_ns(RUSAGE_SELF) - begin) / N_PAIRS);
        return 0;
}

/*
 * Sites with 10 MiB each at the end, of blocks of different sizes
 */

#define BLOCK_SITE(name, n_bytes)                                         \
        SITE static void name(void) {                                     \
                for (size_t n = 0; n < (SITE_MIB << 20) / (n_bytes); n++) \
                        keep(malloc(n_bytes));                            \
        }

BLOCK_SITE(site_of_64, 64u)
BLOCK_SITE(site_of_1024, 1024u)
BLOCK_SITE(site_of_32768, 32768u)

static int run_sites(void) {
        site_of_64();
        site_of_1024();
        site_of_32768();
        return 0;
}

/*
 * Many call stacks: each path through a tree is one
 */

SITE static void left(unsigned depth, unsigned path, size_t n_bytes);
SITE static void right(unsigned depth, unsigned path, size_t n_bytes);

static bool shall_free;

static inline __attribute__((__always_inline__)) void
descend(unsigned depth, unsigned path, size_t n_bytes) {
        void (*const next)(unsigned, unsigned, size_t) = path & 1 ? left : right;

        if (depth > 0) {
                next(depth - 1, path >> 1, n_bytes);
        } else {
                void *memory = malloc(n_bytes);

                keep(memory);
                if (shall_free) {
                        kept = *(void **)memory;
                        free(memory);
                }
        }
        __asm__ volatile("" ::: "memory"); /* a call of its own, not a jump */
}

static void left(unsigned depth, unsigned path, size_t n_bytes) {
        descend(depth, path, n_bytes);
}

static void right(unsigned depth, unsigned path, size_t n_bytes) {
        descend(depth, path, n_bytes);
}

/* The first time all are kept. */
SITE static void touch_all(unsigned n_stacks, size_t n_bytes) {
        for (unsigned path = 0; path < n_stacks; path++)
                descend(TREE_MAX, path, n_bytes);
        shall_free = true;
}

/* A number out of one of our own files in /proc; of all memory in KiB, of a thread's CPU time in ns. */
static long long number_in(const char *path, const char *key) {
        FILE *file = fopen(path, "re");
        char line[256];
        long long number = -1;

        while (file && number < 0 && fgets(line, sizeof(line), file))
                if (strncmp(line, key, strlen(key)) == 0)
                        number = strtoll(line + strlen(key), NULL, 10);
        if (file)
                fclose(file);
        return number;
}

/* The CPU time of the thread that writes dumps; -1: there is none. */
static long long thread_ns(void) {
        DIR *tasks = opendir("/proc/self/task");
        long long ns = -1;
        struct dirent *entry;

        while (tasks && (entry = readdir(tasks))) {
                char path[300];

                snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
                if (number_in(path, "Name:\tdesktrace-heap") != 0)
                        continue;
                snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
                ns = number_in(path, "");
        }
        if (tasks)
                closedir(tasks);
        return ns;
}

/* What the next dump takes: until its thread has run, and then has not for 200 ms. 0: there was none in ten seconds. */
static long long next_dump_ns(void) {
        long long before = thread_ns(), now = before;

        for (int i = 0; i < 1000 && now == before; i++) {
                usleep(10000);
                now = thread_ns();
        }
        for (long long last = -1; last != now; now = thread_ns()) {
                last = now;
                usleep(200000);
        }
        return now - before;
}

/* With `n` call stacks: KiB in memory, and how many ns of CPU each of the next dumps took, all of which have all. The
 * calls are made in one place, which the volatile keeps one, as each other place would be another call stack. */
static int run_many(unsigned n_stacks, size_t n_bytes) {
        const bool is_recorded = getenv("DESKTRACE_WAIT");

        for (volatile int i = 0; i <= N_WRITTEN; i++) {
                touch_all(n_stacks, n_bytes);
                if (i == 0)
                        printf("%lld", number_in("/proc/self/status", "VmRSS:"));
                for (int k = 0; is_recorded && k < 500 && thread_ns() < 0; k++)
                        usleep(10000);
                if (!is_recorded)
                        break;
                printf(" %lld", next_dump_ns());
        }
        if (is_recorded)
                printf(" / %lld", number_in("/proc/self/status", "VmRSS:"));
        putchar('\n');
        return 0;
}

/* A command, and behind it the user CPU time that it took. */
static int run_command(const char *file, char **command) {
        const pid_t pid = fork();
        FILE *output;
        int status;

        if (pid == 0) {
                execvp(command[0], command);
                _exit(127);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
                return 1;
        output = fopen(file, "we");
        if (!output)
                return 1;
        fprintf(output, "%.3f\n", user_ns(RUSAGE_CHILDREN) / 1e9);
        fclose(output);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int main(int argc, char **argv) {
        const char *what = argc > 1 ? argv[1] : "";

        if (strcmp(what, "pairs") == 0)
                return run_pairs();
        if (strcmp(what, "sites") == 0)
                return run_sites();
        if (strcmp(what, "many") == 0 && argc == 4)
                return run_many((unsigned)atoi(argv[2]), (size_t)atoi(argv[3]));
        if (strcmp(what, "run") == 0 && argc > 3)
                return run_command(argv[2], argv + 3);
        fprintf(stderr,
                "usage: %s pairs | sites | many STACKS BYTES | run FILE COMMAND…\n",
                argv[0]);
        return 2;
}
