/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "answers/answer-slices.h"

#include <string.h>

#include "answers/answer-time.h"
#include "shared/text.h"

uint32_t answer_slice_name(const AnswerQuestion *question) {
        const char *text = question->slice;

        return text ? trace_pool_find(&question->store->pool, text, strlen(text)) : 0;
}

static uint32_t find_longest(const AnswerQuestion *question, uint32_t name) {
        const TraceTable *slices = &question->store->tables[TRACE_TABLE_SLICE];
        uint32_t longest = TRACE_NONE;
        int64_t longest_ns = -1;

        for (uint32_t row = answer_time_find(slices, question->start); row < slices->n; row++) {
                int64_t ns;

                if (answer_slice_ts(question->store, row) > question->end)
                        break;
                if (trace_table_get(slices, SLICE_NAME, row) != name)
                        continue;
                ns = time_since(answer_slice_end(question, row),
                                answer_slice_ts(question->store, row));
                if (ns > longest_ns) {
                        longest = row;
                        longest_ns = ns;
                }
        }
        return longest;
}

/* A name may consist of digits, and comes first. */
uint32_t answer_slice_find(const AnswerQuestion *question) {
        uint32_t name = answer_slice_name(question),
                 row = name ? find_longest(question, name) : TRACE_NONE;
        uint64_t id;

        if (row != TRACE_NONE || !question->slice ||
            text_parse_uint(&id, question->slice, UINT32_MAX))
                return row;
        return id < question->store->tables[TRACE_TABLE_SLICE].n ? (uint32_t)id : TRACE_NONE;
}

int64_t answer_slice_end(const AnswerQuestion *question, uint32_t row) {
        int64_t dur = answer_slice_dur(question->store, row);

        return dur < 0 ? question->last : time_add(answer_slice_ts(question->store, row), dur);
}

uint32_t answer_slice_thread(const TraceStore *store, uint32_t row) {
        const TraceTable *tracks = &store->tables[TRACE_TABLE_TRACK];
        uint32_t track = trace_table_get(&store->tables[TRACE_TABLE_SLICE], SLICE_TRACK, row);

        return track < tracks->n ? trace_table_get(tracks, TRACK_UTID, track) : TRACE_NONE;
}
