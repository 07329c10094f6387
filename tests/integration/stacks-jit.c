/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program that makes code while it runs, and names it as runtimes do: in /tmp/perf-PID.map
 *
 * Usage: stacks-jit SECONDS [NAME [frameless]]   without a name it tells none
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* push %rbp; mov %rsp,%rbp; mov $2000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9, 0x80, 0x84, 0x1e,
                                0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3 };

/* push %rbp; sub $24,%rsp; mov $2000000,%ebp; 1: dec %ebp; jnz 1b; add $24,%rsp; pop %rbp; ret */
static const uint8_t frameless[] = { 0x55, 0x48, 0x83, 0xec, 0x18, 0xbd, 0x80, 0x84, 0x1e, 0x00,
                                     0xff, 0xcd, 0x75, 0xfc, 0x48, 0x83, 0xc4, 0x18, 0x5d, 0xc3 };

static char path[64];

static void tell_name(const void *at, const char *name) {
        FILE *file;

        file = fopen(path, "w");
        if (!file)
                exit(EXIT_FAILURE);
        /* What was here before, nonsense, and code that begins elsewhere. */
        fprintf(file,
                "%lx %zx old\nnonsense\n%lx 10 elsewhere\n%lx %zx %s\n",
                (unsigned long)at,
                sizeof(code),
                (unsigned long)at + 4096,
                (unsigned long)at,
                sizeof(code),
                name);
        fclose(file);
}

int main(int argc, char **argv) {
        const time_t seconds = argc > 1 ? atoi(argv[1]) : 1;
        struct timespec used;
        void (*made)(void);
        void *at;

        at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
                return EXIT_FAILURE;
        memcpy(at, code, sizeof(code));
        if (argc > 3)
                memcpy(at, frameless, sizeof(frameless));
        if (mprotect(at, 4096, PROT_READ | PROT_EXEC) < 0)
                return EXIT_FAILURE;
        snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
        if (argc > 2)
                tell_name(at, argv[2]);
        memcpy(&made, &at, sizeof(made));
        do {
                made();
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        } while (used.tv_sec < seconds);
        unlink(path); /* also one that somebody else has put there for us */
        return EXIT_SUCCESS;
}
