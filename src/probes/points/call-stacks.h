/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Call stacks: which entry of a function a return belongs to
 *
 * The stack pointer shows that: when the function returns, it is where it was at the entry, except for the return
 * address. A function that ended in another way, by an exception or longjmp(), or whose return was lost, is closed when
 * a later event of its thread has a stack that cannot be inside of it. The memory is fixed: threads beyond the limit
 * take the place of those that have not been seen for longest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CALL_DEPTH_MAX   64 /* the kernel follows returns no deeper than this */
#define CALL_THREADS_MAX 1024

typedef struct Call {
        uint32_t site;
        uint64_t stack, begin_ns;
        uint64_t track, surface; /* of the caller */
} Call;

typedef struct CallStack {
        pid_t tid;     /* 0: free */
        uint64_t used; /* when, in events */
        size_t depth;
        Call calls[CALL_DEPTH_MAX];
} CallStack;

typedef struct CallStacks {
        CallStack *stacks; /* CALL_THREADS_MAX, by tid; of neighbours, any */
        uint64_t n_events;
        /* A function that was entered has ended. `is_whole` is false if it may have ended earlier. */
        void (*ended)(void *userdata, pid_t tid, const Call *call, uint64_t end_ns, bool is_whole);
        void *userdata;
} CallStacks;

/* Returns 0 or -ENOMEM. */
int call_stacks_init(
        CallStacks *stacks,
        void (*ended)(void *userdata, pid_t tid, const Call *call, uint64_t end_ns, bool is_whole),
        void *userdata);
void call_stacks_deinit(CallStacks *stacks);

/* Returns false if it is too deep to be remembered. */
bool call_stacks_enter(CallStacks *stacks, pid_t tid, const Call *call);
/* The return address moves the stack pointer by `return_bytes`. */
void call_stacks_leave(CallStacks *stacks,
                       pid_t tid,
                       uint32_t site,
                       uint64_t stack,
                       unsigned return_bytes,
                       uint64_t at_ns);
/* Ends everything that is open. */
void call_stacks_end(CallStacks *stacks, uint64_t at_ns);
