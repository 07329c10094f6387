/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The chain of wakers behind the longest wait of a slice
 *
 * It goes from the thread that woke the slice's thread to the one that had woken that thread, and so on, as long as
 * each was woken after the wait began: so it ends at what the slice really waited for. An interrupt has no waker, so a
 * chain that ends with one waited for a device or a timer.
 */

#include "answers/answer-questions.h"
#include "answers/answer-slices.h"
#include "answers/answer-states.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"

#define WAKERS_MAX 32

static const AnswerColumn facts[] = {
        [WAKERS_FACT_THREAD] = { "thread", NULL, ANSWER_TEXT },
        [WAKERS_FACT_AT] = { "at", NULL, ANSWER_TIME },
        [WAKERS_FACT_WAITED] = { "waited_ns", NULL, ANSWER_NS },
        [WAKERS_FACT_END] = { "end", NULL, ANSWER_WORD },
};

enum { COLUMN_AT, COLUMN_THREAD, COLUMN_PROGRAM, COLUMN_ACTIVE, COLUMN_RAN, COLUMN_SLEPT };

static const AnswerColumn columns[] = {
        [COLUMN_AT] = { "at", N_("AT"), ANSWER_TIME },
        [COLUMN_THREAD] = { "thread", N_("WOKEN BY"), ANSWER_TEXT },
        [COLUMN_PROGRAM] = { "program", N_("PROGRAM"), ANSWER_TEXT },
        [COLUMN_ACTIVE] = { "active_ns", N_("ACTIVE SINCE"), ANSWER_NS },
        [COLUMN_RAN] = { "ran_ns", N_("RAN"), ANSWER_NS },
        [COLUMN_SLEPT] = { "slept_before_ns", N_("SLEPT BEFORE"), ANSWER_NS },
};

static const char end_interrupt[] = N_("an interrupt: a device or a timer");
static const char end_active[] = N_("a thread that had been active all the time");
static const char end_unknown[] = N_("what the recording does not have");
static const char end_long[] = N_("a chain that goes on");

static bool is_wait(AnswerState state) {
        return state == ANSWER_STATE_SLEPT || state == ANSWER_STATE_IO ||
               state == ANSWER_STATE_BLOCKED;
}

/* The last wait that ended at or before a time; states->n: there is none. */
static size_t wait_before(const AnswerStates *states, int64_t at) {
        size_t last = states->n;

        for (size_t i = 0; i < states->n && answer_states_begin(states, i) < at; i++)
                if (is_wait(answer_state_of(states->store, states->rows[i])) &&
                    answer_states_end(states, i) <= at)
                        last = i;
        return last;
}

static size_t longest_wait(const AnswerStates *states, int64_t from, int64_t to) {
        size_t longest = states->n;
        int64_t longest_ns = 0;

        for (size_t i = 0; i < states->n && answer_states_begin(states, i) < to; i++) {
                int64_t ns = time_overlap(
                        answer_states_begin(states, i), answer_states_end(states, i), from, to);

                if (ns > longest_ns && is_wait(answer_state_of(states->store, states->rows[i]))) {
                        longest = i;
                        longest_ns = ns;
                }
        }
        return longest;
}

static void put_waker(Answer *answer,
                      const AnswerQuestion *question,
                      uint32_t utid,
                      const AnswerStates *states,
                      size_t wait,
                      int64_t at) {
        AnswerValue *cells = answer_add_row(answer);
        int64_t sums[_ANSWER_STATES], since;

        if (!cells)
                return;
        answer_set(&cells[COLUMN_AT], time_since(at, question->zero));
        if (utid == 0) {
                answer_set_word(&cells[COLUMN_THREAD], answer_interrupt);
                return;
        }
        answer_set_thread(answer, &cells[COLUMN_THREAD], question->store, utid);
        answer_set_name(answer,
                        &cells[COLUMN_PROGRAM],
                        question->store,
                        answer_who_program(question->store, utid));
        if (wait == states->n)
                return;
        since = answer_states_end(states, wait);
        answer_states_add_up(states, since, at, sums);
        answer_set(&cells[COLUMN_ACTIVE], time_since(at, since));
        answer_set(&cells[COLUMN_RAN], sums[ANSWER_STATE_RAN]);
        answer_set(&cells[COLUMN_SLEPT], time_since(since, answer_states_begin(states, wait)));
}

/* Finds the thread that woke the waker. *ret_end is NULL if there is one, and *utid and *at then describe it;
 * otherwise it says why the chain ends here. */
static int follow(Answer *answer,
                  const AnswerQuestion *question,
                  int64_t wait_began,
                  uint32_t *utid,
                  int64_t *at,
                  const char **ret_end) {
        _cleanup_(answer_states_deinit) AnswerStates states = { 0 };
        size_t wait;
        int r;

        *ret_end = *utid == TRACE_NONE ? end_unknown : *utid == 0 ? end_interrupt : NULL;
        if (*utid == TRACE_NONE)
                return 0;
        r = answer_states_init(&states, question->store, *utid, question->last);
        if (r)
                return r;
        wait = wait_before(&states, *at);
        put_waker(answer, question, *utid, &states, wait, *at);
        if (*ret_end)
                return 0;
        if (wait == states.n || answer_states_end(&states, wait) <= wait_began) {
                *ret_end = end_active;
                return 0;
        }
        *utid = answer_states_waker(&states, wait);
        *at = answer_states_end(&states, wait);
        return 0;
}

static int
wakers_of(Answer *answer, const AnswerQuestion *question, const AnswerStates *states, size_t wait) {
        uint32_t utid = answer_states_waker(states, wait);
        int64_t began = answer_states_begin(states, wait), at = answer_states_end(states, wait);
        const char *end = NULL;
        int r = 0;

        answer_set(&answer->facts[WAKERS_FACT_AT], time_since(began, question->zero));
        answer_set(&answer->facts[WAKERS_FACT_WAITED], time_since(at, began));
        for (size_t i = 0; r == 0 && !end && i < WAKERS_MAX; i++)
                r = follow(answer, question, began, &utid, &at, &end);
        answer_set_word(&answer->facts[WAKERS_FACT_END], end ? end : end_long);
        return r;
}

static int wakers_find(Answer *answer, const AnswerQuestion *question) {
        _cleanup_(answer_states_deinit) AnswerStates states = { 0 };
        uint32_t row = answer_slice_find(question), utid;
        size_t wait;
        int r;

        if (row == TRACE_NONE)
                return ANSWER_E_NO_SLICE;
        utid = answer_slice_thread(question->store, row);
        r = answer_states_init(&states, question->store, utid, question->last);
        if (r)
                return r;
        wait = longest_wait(
                &states, answer_slice_ts(question->store, row), answer_slice_end(question, row));
        if (wait == states.n)
                return ANSWER_E_NOTHING;
        answer_set_thread(answer, &answer->facts[WAKERS_FACT_THREAD], question->store, utid);
        return wakers_of(answer, question, &states, wait);
}

const AnswerDef answer_wakers = {
        .name = "wakers",
        .record = "desktrace record -p default",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_SCHED | TRACE_PART_STATES,
        .options = ANSWER_TAKES_SLICE | ANSWER_NEEDS_SLICE,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = wakers_find,
};
