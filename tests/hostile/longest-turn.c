/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Loaded into the service by LD_PRELOAD: how much time of a CPU the longest turn of its main loop has taken. A turn is
 * what the main thread does between two waits for events. The number is in the file $LONGEST_TURN, which has
 * nanoseconds as 64 bits. Zeros that are written to it begin a new measurement.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static volatile uint64_t *longest_ns;
static uint64_t began_at;

__attribute__((constructor)) static void init(void) {
        const char *path = getenv("LONGEST_TURN");
        void *page;
        int fd;

        if (!path || strcmp(program_invocation_short_name, "desktraced") != 0)
                return;
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
                return;
        page = mmap(NULL, sizeof(*longest_ns), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (page != MAP_FAILED)
                longest_ns = page;
}

static uint64_t cpu_now(void) {
        struct timespec now;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool is_counted(void) {
        return longest_ns && gettid() == getpid();
}

static void turn_end(void) {
        if (is_counted() && began_at && cpu_now() - began_at > *longest_ns)
                *longest_ns = cpu_now() - began_at;
}

static int turn_begin(int n_events) {
        if (is_counted())
                began_at = cpu_now();
        return n_events;
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int n, int timeout) {
        static int (*next)(int, struct epoll_event *, int, int);

        if (!next)
                next = dlsym(RTLD_NEXT, "epoll_wait");
        turn_end();
        return turn_begin(next(fd, events, n, timeout));
}

EXPORT int epoll_pwait2(int fd,
                        struct epoll_event *events,
                        int n,
                        const struct timespec *timeout,
                        const sigset_t *signals) {
        static int (*next)(
                int, struct epoll_event *, int, const struct timespec *, const sigset_t *);

        if (!next)
                next = dlsym(RTLD_NEXT, "epoll_pwait2");
        turn_end();
        return turn_begin(next(fd, events, n, timeout, signals));
}
