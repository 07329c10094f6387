/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer slices: which slice a question is about */

#include "answers/answer-slices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/answer-time.h"
#include "shared/text.h"
#include "trace/trace-tracks.h"

#define ID_PREFIX   "id:"
#define NAME_PREFIX "name:"

static bool has_prefix(const char *text, const char *prefix) {
        return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* A text that begins with "id:" but continues with anything but digits is a name. */
static bool parse_id(const AnswerQuestion *question, bool is_marked, uint64_t *ret) {
        const char *text = question->slice;

        if (!text || has_prefix(text, ID_PREFIX) != is_marked)
                return false;
        return text_parse_uint(ret, text + (is_marked ? strlen(ID_PREFIX) : 0), UINT32_MAX) == 0;
}

uint32_t answer_slice_name(const AnswerQuestion *question) {
        const char *text = question->slice;
        uint64_t id;

        if (!text || parse_id(question, true, &id))
                return 0;
        if (has_prefix(text, NAME_PREFIX))
                text += strlen(NAME_PREFIX);
        return trace_pool_find(&question->store->pool, text, strlen(text));
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

char *answer_slice_named(const char *name) {
        size_t n = strlen(NAME_PREFIX) + strlen(name) + 1;
        char *text = malloc(n);

        if (text)
                snprintf(text, n, "%s%s", NAME_PREFIX, name);
        return text;
}

/* A name may consist of digits; it takes precedence unless the user says that it is an id. */
uint32_t answer_slice_find(const AnswerQuestion *question) {
        uint32_t name = answer_slice_name(question),
                 row = name ? find_longest(question, name) : TRACE_NONE;
        uint64_t id;

        if (row != TRACE_NONE || !(parse_id(question, true, &id) || parse_id(question, false, &id)))
                return row;
        return id < question->store->tables[TRACE_TABLE_SLICE].n ? (uint32_t)id : TRACE_NONE;
}

int64_t answer_slice_end(const AnswerQuestion *question, uint32_t row) {
        int64_t dur = answer_slice_dur(question->store, row);

        return dur < 0 ? question->last : time_add(answer_slice_ts(question->store, row), dur);
}

static uint32_t main_thread(const TraceStore *store, uint32_t upid) {
        const TraceTable *threads = &store->tables[TRACE_TABLE_THREAD];

        for (uint32_t utid = 0; utid < threads->n; utid++)
                if (trace_table_get(threads, THREAD_UPID, utid) == upid &&
                    trace_table_get(threads, THREAD_IS_MAIN, utid) == 1)
                        return utid;
        return TRACE_NONE;
}

/* A program's main loop is reported by process, as it is that of the main thread (linux.program_points). */
static uint32_t thread_of_main_loop(const TraceStore *store, uint32_t track) {
        const TraceTable *tracks = &store->tables[TRACE_TABLE_TRACK];
        const char *name =
                trace_pool_text(&store->pool, trace_table_get(tracks, TRACK_NAME, track));

        if (!name || !streq(name, "Main loop"))
                return TRACE_NONE;
        for (unsigned i = 0; track < tracks->n && i < TRACE_TRACK_PARENTS_MAX; i++) {
                uint32_t upid = trace_table_get(tracks, TRACK_UPID, track);

                if (upid != TRACE_NONE)
                        return main_thread(store, upid);
                track = trace_table_get(tracks, TRACK_PARENT, track);
        }
        return TRACE_NONE;
}

uint32_t answer_slice_thread(const TraceStore *store, uint32_t row) {
        const TraceTable *tracks = &store->tables[TRACE_TABLE_TRACK];
        uint32_t track = trace_table_get(&store->tables[TRACE_TABLE_SLICE], SLICE_TRACK, row), utid;

        if (track >= tracks->n)
                return TRACE_NONE;
        utid = trace_table_get(tracks, TRACK_UTID, track);
        return utid == TRACE_NONE ? thread_of_main_loop(store, track) : utid;
}
