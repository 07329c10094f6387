/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Call stacks: which entry of a function a return belongs to */

#include <errno.h>
#include <stdlib.h>

#include "probes/points/call-stacks.h"
#include "shared/macro.h"

#define NEIGHBOURS 8

int call_stacks_init(
        CallStacks *stacks,
        void (*ended)(void *userdata, pid_t tid, const Call *call, uint64_t end_ns, bool is_whole),
        void *userdata) {
        *stacks = (CallStacks){ .ended = ended, .userdata = userdata };
        stacks->stacks = calloc(CALL_THREADS_MAX, sizeof(*stacks->stacks));
        return stacks->stacks ? 0 : -ENOMEM;
}

void call_stacks_deinit(CallStacks *stacks) {
        free(stacks->stacks);
        *stacks = (CallStacks){};
}

/* Returns NULL if the thread has none. */
static CallStack *find(CallStacks *stacks, pid_t tid) {
        for (unsigned i = 0; i < NEIGHBOURS; i++) {
                CallStack *stack = &stacks->stacks[((unsigned)tid + i) % CALL_THREADS_MAX];

                if (stack->tid == tid)
                        return stack;
        }
        return NULL;
}

static void pop(CallStacks *stacks, CallStack *stack, uint64_t at_ns, bool is_whole) {
        stack->depth--;
        stacks->ended(stacks->userdata, stack->tid, &stack->calls[stack->depth], at_ns, is_whole);
}

/* The thread's stack, or else the one that has not been used for longest. */
static CallStack *take(CallStacks *stacks, pid_t tid, uint64_t at_ns) {
        CallStack *oldest = find(stacks, tid);

        if (oldest)
                return oldest;
        for (unsigned i = 0; i < NEIGHBOURS; i++) {
                CallStack *stack = &stacks->stacks[((unsigned)tid + i) % CALL_THREADS_MAX];

                if (!oldest || stack->used < oldest->used)
                        oldest = stack;
        }
        while (oldest->depth > 0)
                pop(stacks, oldest, at_ns, false);
        oldest->tid = tid;
        return oldest;
}

/* Stacks grow down. If a function has the same stack as another one, that one ended with a jump to it, so both are
 * open. But no function is open twice with one stack. */
static bool is_over(const CallStack *stack, uint32_t site, uint64_t pointer) {
        const Call *last = &stack->calls[stack->depth - 1];

        return last->stack < pointer || (last->stack == pointer && last->site == site);
}

bool call_stacks_enter(CallStacks *stacks, pid_t tid, const Call *call) {
        CallStack *stack = take(stacks, tid, call->begin_ns);

        stack->used = ++stacks->n_events;
        while (stack->depth > 0 && is_over(stack, call->site, call->stack))
                pop(stacks, stack, call->begin_ns, false);
        if (stack->depth == CALL_DEPTH_MAX)
                return false;
        stack->calls[stack->depth++] = *call;
        return true;
}

void call_stacks_leave(CallStacks *stacks,
                       pid_t tid,
                       uint32_t site,
                       uint64_t pointer,
                       unsigned return_bytes,
                       uint64_t at_ns) {
        CallStack *stack = find(stacks, tid);
        uint64_t at_entry = pointer - return_bytes;
        size_t depth;

        if (!stack)
                return;
        stack->used = ++stacks->n_events;
        for (depth = stack->depth; depth > 0; depth--)
                if (stack->calls[depth - 1].site == site &&
                    stack->calls[depth - 1].stack == at_entry)
                        break;
        if (depth == 0)
                return; /* the call began before the recording */
        while (stack->depth > depth)
                pop(stacks, stack, at_ns, false);
        pop(stacks, stack, at_ns, true);
}

void call_stacks_end(CallStacks *stacks, uint64_t at_ns) {
        for (size_t i = 0; i < CALL_THREADS_MAX; i++)
                while (stacks->stacks[i].depth > 0)
                        pop(stacks, &stacks->stacks[i], at_ns, false);
}
