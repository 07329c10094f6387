/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace slices: turns begins and ends on each track, in order of time, into nested slices */

#include "trace/trace-slices.h"

#include <string.h>

typedef struct SliceStack {
        uint32_t *rows;
        size_t n, n_allocated;
        bool may_have_ended; /* not all of them are open */
} SliceStack;

void trace_slices_deinit(TraceSlices *slices) {
        for (size_t i = 0; i < slices->n_stacks_allocated; i++)
                free(slices->stacks[i].rows);
        free(slices->stacks);
        trace_args_deinit(&slices->merged);
        *slices = (TraceSlices){ 0 };
}

static TraceTable *slice_table(const TraceSlices *slices) {
        return trace_store_table(slices->store, TRACE_TABLE_SLICE);
}

static SliceStack *slices_stack(TraceSlices *slices, uint32_t track) {
        size_t n_before = slices->n_stacks_allocated;

        if (track >= n_before) {
                if (trace_reserve((void **)&slices->stacks,
                                  &slices->n_stacks_allocated,
                                  (size_t)track + 1,
                                  sizeof(*slices->stacks)))
                        return NULL;
                memset(slices->stacks + n_before,
                       0,
                       (slices->n_stacks_allocated - n_before) * sizeof(*slices->stacks));
        }
        return &slices->stacks[track];
}

static int64_t *slice_ts(const TraceTable *table) {
        return table->columns[SLICE_TS];
}

static int64_t *slice_dur(const TraceTable *table) {
        return table->columns[SLICE_DUR];
}

/* The slices above `i` on the stack are still open. They end when slice `i` does. */
static void stack_truncate(TraceTable *table, SliceStack *stack, size_t i) {
        uint32_t row = stack->rows[i];
        int64_t end = slice_ts(table)[row] + slice_dur(table)[row];

        for (size_t j = i + 1; j < stack->n; j++)
                slice_dur(table)[stack->rows[j]] = end - slice_ts(table)[stack->rows[j]];
        stack->n = i;
}

/* Takes the slices that have ended by now off the stack. Returns false if a slice of this duration cannot begin
 * here, because it would outlast the one that it begins in. */
static bool stack_close(TraceSlices *slices, SliceStack *stack, int64_t at_ns, int64_t new_dur) {
        TraceTable *table = slice_table(slices);
        bool has_open = false, has_ended = false;

        if (LIKELY(!stack->may_have_ended))
                return true;
        for (size_t i = stack->n; i-- > 0;) {
                uint32_t row = stack->rows[i];
                int64_t dur = slice_dur(table)[row], end = slice_ts(table)[row] + dur;

                if (dur < 0) {
                        has_open = true;
                        continue;
                }
                if (has_open) {
                        has_ended = true;
                        if (at_ns <= end)
                                continue;
                        slices->n_misplaced++;
                        stack_truncate(table, stack, i);
                        has_open = false;
                        continue;
                }
                /* Instants at the same time are nested. Other slices that merely touch do not overlap. */
                if (end < at_ns || (end == at_ns && !(dur == 0 && new_dur == 0))) {
                        stack->n = i;
                        continue;
                }
                has_ended = true;
                if (new_dur >= 0 && at_ns < end && new_dur > end - at_ns) {
                        slices->n_overlapping++;
                        return false;
                }
        }
        stack->may_have_ended = has_ended;
        return true;
}

static bool stack_push(TraceSlices *slices, SliceStack *stack, uint32_t row) {
        if (trace_reserve((void **)&stack->rows,
                          &stack->n_allocated,
                          stack->n + 1,
                          sizeof(*stack->rows))) {
                slices->store->budget.is_over = true;
                return false;
        }
        stack->rows[stack->n++] = row;
        return true;
}

#define SLICE_ALWAYS                                                                   \
        (1u << SLICE_TS | 1u << SLICE_DUR | 1u << SLICE_TRACK | 1u << SLICE_CATEGORY | \
         1u << SLICE_NAME | 1u << SLICE_DEPTH | 1u << SLICE_PARENT)

uint32_t trace_slices_begin(TraceSlices *slices,
                            uint32_t track,
                            int64_t at_ns,
                            int64_t dur,
                            uint32_t category,
                            uint32_t name,
                            uint32_t args) {
        TraceTable *table = slice_table(slices);
        SliceStack *stack = slices_stack(slices, track);
        uint32_t row;

        if (!stack || (table->n == 0 && !trace_table_make(table, SLICE_ALWAYS)) ||
            !stack_close(slices, stack, at_ns, dur))
                return TRACE_NONE;
        if (stack->n == TRACE_SLICE_DEPTH_MAX) {
                slices->n_too_deep++;
                return TRACE_NONE;
        }
        row = trace_table_add_raw(table);
        if (row == TRACE_NONE)
                return row;
        slice_ts(table)[row] = at_ns;
        slice_dur(table)[row] = dur;
        ((uint32_t *)table->columns[SLICE_TRACK])[row] = track;
        ((uint32_t *)table->columns[SLICE_CATEGORY])[row] = category;
        ((uint32_t *)table->columns[SLICE_NAME])[row] = name;
        ((uint16_t *)table->columns[SLICE_DEPTH])[row] = (uint16_t)stack->n;
        ((uint32_t *)table->columns[SLICE_PARENT])[row] =
                stack->n ? stack->rows[stack->n - 1] : TRACE_NONE;
        if (table->columns[SLICE_ARGS])
                ((uint32_t *)table->columns[SLICE_ARGS])[row] = args;
        else if (args != TRACE_NONE)
                trace_table_set(table, SLICE_ARGS, row, args);
        stack_push(slices, stack, row);
        stack->may_have_ended |= dur >= 0;
        return row;
}

/* The place of the slice that an end belongs to, or SIZE_MAX if there is none. */
static size_t
stack_match(const TraceTable *table, const SliceStack *stack, uint32_t category, uint32_t name) {
        for (size_t i = stack->n; i-- > 0;) {
                uint32_t row = stack->rows[i];
                uint32_t of_row = ((uint32_t *)table->columns[SLICE_NAME])[row];

                if (slice_dur(table)[row] != -1)
                        continue;
                if (category && ((uint32_t *)table->columns[SLICE_CATEGORY])[row] != category)
                        continue;
                if (name && of_row && of_row != name)
                        continue;
                return i;
        }
        return SIZE_MAX;
}

/* A slice has the arguments of both its begin and its end. */
static void slice_add_args(TraceSlices *slices, uint32_t row, uint32_t args) {
        TraceTable *table = slice_table(slices);
        uint32_t before = trace_table_get(table, SLICE_ARGS, row);

        if (args == TRACE_NONE)
                return;
        if (before != TRACE_NONE)
                args = trace_arg_sets_join(
                        slices->sets, slices->store, &slices->merged, before, args);
        trace_table_set(table, SLICE_ARGS, row, args);
}

uint32_t trace_slices_end(TraceSlices *slices,
                          uint32_t track,
                          int64_t at_ns,
                          uint32_t category,
                          uint32_t name,
                          uint32_t args) {
        TraceTable *table = slice_table(slices);
        SliceStack *stack = slices_stack(slices, track);
        uint32_t row;
        size_t i;

        if (!stack)
                return TRACE_NONE;
        stack_close(slices, stack, at_ns, -1);
        i = stack_match(table, stack, category, name);
        if (i == SIZE_MAX) {
                slices->n_unmatched++;
                return TRACE_NONE;
        }
        row = stack->rows[i];
        slice_dur(table)[row] = at_ns - slice_ts(table)[row];
        if (i == stack->n - 1)
                stack->n--;
        else
                stack->may_have_ended = true;
        slice_add_args(slices, row, args);
        return row;
}

void trace_slices_store_counts(TraceSlices *slices) {
        trace_store_set_stat(slices->store, "misplaced_end_event", -1, slices->n_misplaced);
        trace_store_set_stat(slices->store, "slice_max_depth_exceeded", -1, slices->n_too_deep);
        trace_store_set_stat(
                slices->store, "slice_drop_overlapping_complete_event", -1, slices->n_overlapping);
        trace_store_set_stat(slices->store, "slice_end_without_begin", -1, slices->n_unmatched);
}
