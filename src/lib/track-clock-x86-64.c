/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The counter is the TSC. It is used when it runs at one rate whatever the CPU does, when this process may read it,
 * and when the kernel takes its own time from it: then the kernel has checked that it is the same on all CPUs, and
 * looks after it. The kernel does not take it in a virtual machine whose time comes from the hypervisor, as the
 * machine may move to another host.
 */

#include <cpuid.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/track-clock.h"

#define CLOCK_SOURCE  "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define INVARIANT_BIT (1u << 8) /* EDX of leaf 0x80000007 */

static _Atomic bool is_usable;

static bool is_invariant(void) {
        unsigned a, b, c, d;

        return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & INVARIANT_BIT);
}

static bool is_allowed(void) {
        int mode = 0;

        return prctl(PR_GET_TSC, &mode) == 0 && mode == PR_TSC_ENABLE;
}

static bool is_the_kernels(void) {
        int fd = open(CLOCK_SOURCE, O_RDONLY | O_CLOEXEC);
        char name[8] = "";
        ssize_t n;

        if (fd < 0)
                return false;
        n = read(fd, name, sizeof(name) - 1);
        close(fd);
        return n > 0 && strcmp(name, "tsc\n") == 0;
}

void track_clock_prepare(void) {
        atomic_store_explicit(&is_usable,
                              is_invariant() && is_allowed() && is_the_kernels(),
                              memory_order_relaxed);
}

static inline uint64_t read_counter(void) {
        return __builtin_ia32_rdtsc();
}

static void read_pair(ClockPair *ret) {
        uint64_t before = read_counter();

        ret->ns = track_now_ns();
        ret->n_ticks = read_counter() - before;
        ret->counter = before + ret->n_ticks / 2;
}

uint64_t track_clock_now(TrackClock *clock) {
        uint64_t ns;

        if (LIKELY(clock->n_ticks > 0)) {
                ns = clock_compute(clock, read_counter());
                if (LIKELY(ns > 0))
                        return ns;
        }
        if (atomic_load_explicit(&is_usable, memory_order_relaxed) &&
            clock->n_failures < CLOCK_FAILURES_MAX)
                return clock_anchor(clock, read_pair);
        return clock_say(clock, track_now_ns());
}
