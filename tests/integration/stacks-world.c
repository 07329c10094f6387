/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A program that works in different places: always in spin(), under functions that say how it came there
 *
 * Usage: stacks-world plain | handler | hole | exec PROGRAM | load LIBRARY... | maps
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define WORK_NS    400000000
#define PAGE_BYTES 4096
#define HOLE_BYTES 40000
#define N_MAPPINGS 5000 /* more than are known of a process */

static volatile uint64_t result;

typedef int Callback(void);
typedef int Plugin(Callback *callback);

int main(int argc, char **argv);
/* What is done with a value after a call keeps the call from being the last thing, which would be a jump. */
__attribute__((noinline)) int spin(void);
__attribute__((noinline)) int plainly(void);
__attribute__((noinline)) int before_exec(void);
__attribute__((noinline)) int called_back(void);
__attribute__((noinline)) int interrupted(void);
void on_signal(int number);

int spin(void) {
        struct timespec now;
        int64_t begun_ns, ns;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        begun_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
        do {
                for (unsigned i = 0; i < 100000; i++)
                        result = result * 3 + i;
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
                ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
        } while (ns - begun_ns < WORK_NS);
        return (int)(result % 8);
}

int plainly(void) {
        return spin() + (int)(result % 8);
}

/* There are pages in the middle of the stack which nobody has touched. */
static __attribute__((noinline)) int above_hole(void) {
        volatile char bytes[HOLE_BYTES];

        bytes[HOLE_BYTES - 1] = (char)result;
        return spin() + bytes[HOLE_BYTES - 1];
}

int before_exec(void) {
        return spin() + (int)(result % 8);
}

int called_back(void) {
        return spin() + (int)(result % 8);
}

void on_signal(int number) {
        result += (uint64_t)spin();
}

int interrupted(void) {
        raise(SIGUSR1);
        return (int)(result % 8);
}

/* One after the other, so that the second may lie where the first did. */
static __attribute__((noinline)) int load(char **paths) {
        for (; *paths; paths++) {
                void *library = dlopen(*paths, RTLD_NOW), *symbol;
                Plugin *plugin;

                symbol = library ? dlsym(library, "plugin") : NULL;
                if (!symbol)
                        return 1;
                memcpy(&plugin, &symbol, sizeof(plugin));
                result += (uint64_t)plugin(called_back);
                dlclose(library);
        }
        return 0;
}

/* Maps the program's first page as code over and over, without an end. No two of them become one mapping. */
static int map_endlessly(void) {
        const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        for (;;) {
                uint8_t *pages = mmap(NULL,
                                      (size_t)N_MAPPINGS * PAGE_BYTES,
                                      PROT_NONE,
                                      MAP_PRIVATE | MAP_ANONYMOUS,
                                      -1,
                                      0);

                if (fd < 0 || pages == MAP_FAILED)
                        return -1;
                for (size_t i = 0; i < N_MAPPINGS; i++)
                        if (mmap(pages + i * PAGE_BYTES,
                                 PAGE_BYTES,
                                 PROT_READ | PROT_EXEC,
                                 MAP_PRIVATE | MAP_FIXED,
                                 fd,
                                 0) == MAP_FAILED)
                                return -1;
                munmap(pages, (size_t)N_MAPPINGS * PAGE_BYTES);
        }
}

int main(int argc, char **argv) {
        const char *how = argc > 1 ? argv[1] : "plain";

        if (strcmp(how, "handler") == 0) {
                signal(SIGUSR1, on_signal);
                return interrupted() == 1;
        }
        if (strcmp(how, "exec") == 0 && argc > 2) {
                result = (uint64_t)before_exec();
                execl(argv[2], argv[2], "plain", (char *)NULL);
                return 1;
        }
        if (strcmp(how, "hole") == 0)
                return above_hole() == 1;
        if (strcmp(how, "maps") == 0)
                return map_endlessly() < 0;
        if (strcmp(how, "load") == 0)
                return load(argv + 2) > 0;
        return plainly() == 1;
}
