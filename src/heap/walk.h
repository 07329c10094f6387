/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Walk: the call stack of the thread that asks
 *
 * The walk follows the tables for exceptions of the program and its libraries, which are already in memory. So no file
 * is opened, nothing is copied, and no lock of the linker is taken: a thread that loads a library may wait for a thread
 * that allocates. The C library says which file an address is in (_dl_find_object(), since 2.35). Where the unwinder
 * does not know the processor, a stack has one frame, the caller.
 *
 * Only one thread walks at a time: the caller holds a lock. The stack is read in place, up to the end of the mapping in
 * which it lies. The mapping is looked up once for each thread, and again when a thread turns out to be elsewhere: on a
 * stack for signals, or in a coroutine.
 */

#include <stdint.h>

#include "heap/sites.h"
#include "heap/thread-state.h"
#include "unwind/unwinder.h"

#define WALK_SEGMENTS_MAX 4 /* segments of code in one file */

/* Where a hook was called from. The hook captures this itself, and must not return before the stack is walked. */
typedef struct WalkStart {
        uint64_t pc, sp, frame, base;
        uint64_t caller;
} WalkStart;

static inline __attribute__((__always_inline__)) void walk_capture(WalkStart *ret) {
        *ret = (WalkStart){ .caller = (uint64_t)(uintptr_t)__builtin_return_address(0) };
#ifdef __x86_64__
        __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2\n\tmov %%rbx, %3"
                         : "=&r"(ret->pc), "=&r"(ret->sp), "=&r"(ret->frame), "=&r"(ret->base));
#endif
}

typedef struct WalkModule {
        CodeFile code;
        const void *link_map, *frames; /* what these were when the file was first seen */
        uint64_t start, end;
        uint64_t bias; /* address in the process minus address in the file */
        Mapping segments[WALK_SEGMENTS_MAX];
        size_t n_segments;
        char *path;
        uint8_t build_id[BUILD_ID_MAX];
        size_t n_build_id;
} WalkModule;

typedef struct Walker {
        Unwinder *unwinder; /* NULL: every stack has one frame */
        AddressSpace space;
        WalkModule *modules; /* from 1 on, as SiteFrame numbers them */
        uint32_t n_modules;
        char *program; /* its path */
        uint64_t n_complete, n_incomplete;
        uint64_t n_stacks_looked_up;
        char buffer[4096];
} Walker;

/* Returns 0 or a negative errno. Allocates memory. */
int walker_init(Walker *walker);

/* A library may have been unloaded, so everything remembered about addresses is looked up again. Any thread may call
 * this, and no lock is needed. */
void walkers_doubt(void);

/* Whether a stack can have more than one frame on this system. */
bool walker_has_stacks(void);

/* Fills in up to SITE_STACK_FRAMES_MAX frames, innermost first. Returns their number. */
size_t walker_run(Walker *walker, SiteFrame *ret, const WalkStart *start, HeapThread *thread);
