/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer states: what one thread did, one state after the other
 *
 * A state that has no end in the trace ends where the thread's next one begins, or with the trace. After a loss that is
 * longer than it really was; the answer about losses says so.
 */

#include "trace/trace-store.h"

typedef enum AnswerState {
        ANSWER_STATE_RAN,
        ANSWER_STATE_RUNNABLE,
        ANSWER_STATE_IO,      /* uninterruptible, and for IO according to the kernel */
        ANSWER_STATE_BLOCKED, /* uninterruptible otherwise */
        ANSWER_STATE_SLEPT,
        ANSWER_STATE_OTHER, /* stopped, traced, dead */
        _ANSWER_STATES,
} AnswerState;

#define ANSWER_INTERRUPT 0 /* in place of a thread's number: the idle thread wakes nobody */

/* Names the thread that a runnable state refers to. */
uint32_t answer_state_waker(const TraceStore *store, uint32_t row);

AnswerState answer_state_of(const TraceStore *store, uint32_t row);

typedef struct AnswerStates {
        const TraceStore *store;
        int64_t last; /* when the trace ends */
        uint32_t *rows;
        size_t n, n_allocated;
} AnswerStates;

/* Returns 0, or -ENOMEM. */
int answer_states_init(AnswerStates *states, const TraceStore *store, uint32_t utid, int64_t last);
void answer_states_deinit(AnswerStates *states);

/* The index of the thread's state at that time; states->n: unknown. */
size_t answer_states_at(const AnswerStates *states, int64_t at);

int64_t answer_states_begin(const AnswerStates *states, size_t i);
int64_t answer_states_end(const AnswerStates *states, size_t i);

/* What ended the state, according to the next one: a thread, ANSWER_INTERRUPT, or TRACE_NONE if that is unknown. */
uint32_t answer_states_waker(const AnswerStates *states, size_t i);

/* The time spent in each. */
void answer_states_add_up(const AnswerStates *states,
                          int64_t from,
                          int64_t to,
                          int64_t sums[static _ANSWER_STATES]);
