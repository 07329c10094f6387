/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer slices: which slice a question is about
 */

#include "answers/answer.h"

/* The longest slice of a name that begins in the range, or that with an id; TRACE_NONE: no slice. "id:17" is never a
 * name and "name:17" never an id; "17" is an id where no slice is called like that. */
uint32_t answer_slice_find(const AnswerQuestion *question);

/* The number of the name in the pool; 0: it is not there, or nothing was asked for. */
uint32_t answer_slice_name(const AnswerQuestion *question);

/* How a question is asked of slices with exactly this name; malloc'ed, or NULL. */
char *answer_slice_named(const char *name);

/* What is still open lasts until the trace ends. */
int64_t answer_slice_end(const AnswerQuestion *question, uint32_t row);

/* The thread that it is of, or TRACE_NONE. */
uint32_t answer_slice_thread(const TraceStore *store, uint32_t row);

static inline int64_t answer_slice_ts(const TraceStore *store, uint32_t row) {
        return trace_table_i64(&store->tables[TRACE_TABLE_SLICE], SLICE_TS, row);
}

static inline int64_t answer_slice_dur(const TraceStore *store, uint32_t row) {
        return trace_table_i64(&store->tables[TRACE_TABLE_SLICE], SLICE_DUR, row);
}
