/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer slices: which slice a question is about
 */

#include "answers/answer.h"

/* The longest slice of a name that begins in the range, or the slice with an id; TRACE_NONE: there is none. "id:17"
 * is always an id and "name:17" always a name; "17" is an id unless a slice has that name. */
uint32_t answer_slice_find(const AnswerQuestion *question);

/* The name's number in the pool; 0: the pool does not have it, or the question names no slice. */
uint32_t answer_slice_name(const AnswerQuestion *question);

/* The argument that asks about slices with exactly this name; malloc'ed, or NULL. */
char *answer_slice_named(const char *name);

/* An open slice lasts until the trace ends. */
int64_t answer_slice_end(const AnswerQuestion *question, uint32_t row);

/* The thread that it belongs to, or TRACE_NONE. */
uint32_t answer_slice_thread(const TraceStore *store, uint32_t row);

static inline int64_t answer_slice_ts(const TraceStore *store, uint32_t row) {
        return trace_table_i64(&store->tables[TRACE_TABLE_SLICE], SLICE_TS, row);
}

static inline int64_t answer_slice_dur(const TraceStore *store, uint32_t row) {
        return trace_table_i64(&store->tables[TRACE_TABLE_SLICE], SLICE_DUR, row);
}
