/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Walk: the call stack of the thread that asks
 *
 * It is walked by the tables for exceptions of the program and its libraries, where these are in memory, so no
 * file is opened, nothing is copied, and no lock of the linker's is asked for: a thread that loads a library may
 * wait for one that allocates. Which file an address is in the C library says (_dl_find_object(), since 2.35).
 * Where the unwinder does not know the processor a stack has one frame, the caller.
 *
 * One thread at a time: the caller has a lock. The stack is read in place. It ends where the mapping does that it
 * lies in, which is looked up once for each thread, and again when a thread turns out to be elsewhere: on a stack
 * for signals, or in a coroutine.
 */

#include <stdint.h>

#include "heap/sites.h"
#include "heap/thread-state.h"
#include "unwind/unwinder.h"

#define WALK_SEGMENTS_MAX 4 /* of code in one file */

/* Where a hook was called from. Captured in the hook itself, which must not have returned when the stack is
 * walked. */
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
        const void *link_map, *frames; /* what it was when it was seen */
        uint64_t start, end;
        uint64_t bias; /* address in the process less address in the file */
        Mapping segments[WALK_SEGMENTS_MAX];
        size_t n_segments;
        char *path;
        uint8_t build_id[BUILD_ID_MAX];
        size_t n_build_id;
} WalkModule;

typedef struct Walker {
        Unwinder *unwinder; /* NULL: stacks have one frame */
        AddressSpace space;
        WalkModule *modules; /* from 1 on, as SiteFrame has them */
        uint32_t n_modules;
        char *program; /* its path */
        uint64_t n_complete, n_incomplete;
        uint64_t n_stacks_looked_up;
        char buffer[4096];
} Walker;

/* 0, or a negative errno; allocates. */
int walker_init(Walker *walker);

/* A library may have been unloaded: what is remembered of addresses is looked up again. For any thread; no lock is
 * needed. */
void walkers_doubt(void);

/* Whether stacks have more than one frame on this system. */
bool walker_has_stacks(void);

/* Fills up to SITE_STACK_FRAMES_MAX frames, innermost first; returns how many. */
size_t walker_run(Walker *walker, SiteFrame *ret, const WalkStart *start, HeapThread *thread);
