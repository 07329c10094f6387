/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer who: threads, in the terms that people use */

#include "answers/answer-who.h"

#include <stdio.h>

#define WHO_BYTES 256 /* longer names are cut */

const char answer_interrupt[] = N_("an interrupt");
const char answer_who_no_unit[] = N_("what is in no unit");

static uint32_t thread_process(const TraceStore *store, uint32_t utid) {
        const TraceTable *threads = &store->tables[TRACE_TABLE_THREAD];
        uint32_t upid =
                utid < threads->n ? trace_table_get(threads, THREAD_UPID, utid) : TRACE_NONE;

        return upid < store->tables[TRACE_TABLE_PROCESS].n ? upid : TRACE_NONE;
}

static uint32_t thread_name(const TraceStore *store, uint32_t utid) {
        const TraceTable *threads = &store->tables[TRACE_TABLE_THREAD];

        return utid < threads->n ? trace_table_get(threads, THREAD_NAME, utid) : 0;
}

uint32_t answer_who_program(const TraceStore *store, uint32_t utid) {
        uint32_t upid = thread_process(store, utid), name = 0;

        if (upid != TRACE_NONE)
                name = trace_table_get(&store->tables[TRACE_TABLE_PROCESS], PROCESS_NAME, upid);
        return name ? name : thread_name(store, utid);
}

uint32_t answer_who_unit_of_process(const TraceStore *store, uint32_t upid) {
        static const unsigned columns[] = { PROCESS_APP, PROCESS_USER_UNIT, PROCESS_UNIT };
        const TraceTable *processes = &store->tables[TRACE_TABLE_PROCESS];

        for (size_t i = 0; upid < processes->n && i < ARRAY_SIZE(columns); i++) {
                uint32_t name = trace_table_get(processes, columns[i], upid);

                if (name)
                        return name;
        }
        return 0;
}

uint32_t answer_who_unit(const TraceStore *store, uint32_t utid) {
        return answer_who_unit_of_process(store, thread_process(store, utid));
}

/* Programs of one name form one group; each program without a name is its own group. */
uint64_t answer_who_key(const TraceStore *store, uint32_t utid, AnswerGroup group) {
        uint32_t name = group == ANSWER_BY_PROGRAM ? answer_who_program(store, utid)
                        : group == ANSWER_BY_UNIT  ? answer_who_unit(store, utid)
                                                   : 0;

        return name || group == ANSWER_BY_UNIT ? (UINT64_C(1) << 32 | name) : utid;
}

void answer_set_thread(Answer *answer, AnswerValue *value, const TraceStore *store, uint32_t utid) {
        const TraceTable *threads = &store->tables[TRACE_TABLE_THREAD];
        const char *name = trace_pool_text(&store->pool, thread_name(store, utid));
        char text[WHO_BYTES];
        int64_t tid;

        if (utid >= threads->n)
                return;
        if (!trace_table_number(threads, THREAD_TID, utid, &tid))
                tid = 0;
        snprintf(text,
                 sizeof(text),
                 "%.200s%s%lld",
                 name ? name : "",
                 name && *name ? " " : "",
                 (long long)tid);
        answer_set_text(answer, value, text);
}

void answer_set_who(Answer *answer,
                    AnswerValue *value,
                    const TraceStore *store,
                    uint32_t utid,
                    AnswerGroup group) {
        uint32_t name = group == ANSWER_BY_PROGRAM ? answer_who_program(store, utid)
                        : group == ANSWER_BY_UNIT  ? answer_who_unit(store, utid)
                                                   : 0;

        if (name)
                answer_set_name(answer, value, store, name);
        else if (group == ANSWER_BY_UNIT)
                answer_set_word(value, answer_who_no_unit);
        else
                answer_set_thread(answer, value, store, utid);
}
