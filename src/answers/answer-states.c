/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer states: what one thread did, one state after the other */

#include "answers/answer-states.h"

#include <errno.h>
#include <string.h>

#include "answers/answer-time.h"

static AnswerState uninterruptible(const TraceTable *table, uint32_t row) {
        return trace_table_get(table, STATE_IO_WAIT, row) == 1 ? ANSWER_STATE_IO
                                                               : ANSWER_STATE_BLOCKED;
}

AnswerState answer_state_of(const TraceStore *store, uint32_t row) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STATE];
        uint32_t number = trace_table_get(table, STATE_STATE, row);
        const char *name;

        if (number == TRACE_STATE_RUNNING)
                return ANSWER_STATE_RAN;
        if (number == TRACE_STATE_RUNNABLE || number == TRACE_STATE_PREEMPTED)
                return ANSWER_STATE_RUNNABLE;
        name = number < store->n_states ? trace_pool_text(&store->pool, store->states[number])
                                        : NULL;
        switch (name ? *name : '\0') {
        case 'S':
        case 'I':
                return ANSWER_STATE_SLEPT;
        case 'D':
                return uninterruptible(table, row);
        default:
                return ANSWER_STATE_OTHER;
        }
}

/* A thread is not charged with what an interrupt does while it runs. */
uint32_t answer_state_waker(const TraceStore *store, uint32_t row) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STATE];

        return trace_table_get(table, STATE_IRQ, row) == 1
                       ? ANSWER_INTERRUPT
                       : trace_table_get(table, STATE_WAKER_UTID, row);
}

int answer_states_init(AnswerStates *states, const TraceStore *store, uint32_t utid, int64_t last) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STATE];

        *states = (AnswerStates){ .store = store, .last = last };
        for (uint32_t row = 0; row < table->n; row++) {
                if (trace_table_get(table, STATE_UTID, row) != utid)
                        continue;
                if (trace_reserve((void **)&states->rows,
                                  &states->n_allocated,
                                  states->n + 1,
                                  sizeof(*states->rows)))
                        return -ENOMEM;
                states->rows[states->n++] = row;
        }
        return 0;
}

void answer_states_deinit(AnswerStates *states) {
        free(states->rows);
        *states = (AnswerStates){ 0 };
}

int64_t answer_states_begin(const AnswerStates *states, size_t i) {
        return trace_table_i64(
                &states->store->tables[TRACE_TABLE_STATE], STATE_TS, states->rows[i]);
}

int64_t answer_states_end(const AnswerStates *states, size_t i) {
        const TraceTable *table = &states->store->tables[TRACE_TABLE_STATE];
        int64_t dur = trace_table_i64(table, STATE_DUR, states->rows[i]);

        if (dur >= 0)
                return time_add(answer_states_begin(states, i), dur);
        return i + 1 < states->n ? answer_states_begin(states, i + 1) : states->last;
}

/* The first state that begins later. */
static size_t states_after(const AnswerStates *states, int64_t at) {
        size_t low = 0, high = states->n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (answer_states_begin(states, middle) <= at)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

size_t answer_states_at(const AnswerStates *states, int64_t at) {
        size_t after = states_after(states, at);

        if (after == 0 || answer_states_end(states, after - 1) < at)
                return states->n;
        return after - 1;
}

uint32_t answer_states_waker(const AnswerStates *states, size_t i) {
        return i + 1 < states->n ? answer_state_waker(states->store, states->rows[i + 1])
                                 : TRACE_NONE;
}

void answer_states_add_up(const AnswerStates *states,
                          int64_t from,
                          int64_t to,
                          int64_t sums[static _ANSWER_STATES]) {
        size_t i = states_after(states, from);

        memset(sums, 0, _ANSWER_STATES * sizeof(*sums));
        for (i = i > 0 ? i - 1 : 0; i < states->n && answer_states_begin(states, i) < to; i++) {
                AnswerState state = answer_state_of(states->store, states->rows[i]);

                sums[state] = time_add(sums[state],
                                       time_overlap(answer_states_begin(states, i),
                                                    answer_states_end(states, i),
                                                    from,
                                                    to));
        }
}
