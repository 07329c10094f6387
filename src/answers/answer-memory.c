/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whose memory grew: compares the first and the last value of each process's resident memory in the range. */

#include <errno.h>

#include "answers/answer-questions.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"
#include "trace/trace-map.h"

static const AnswerColumn facts[] = {
        [MEMORY_FACT_PROCESSES] = { "processes", NULL, ANSWER_COUNT },
};

enum { COLUMN_FIRST = MEMORY_COLUMN_GROWTH + 1, COLUMN_LAST, COLUMN_MOST, COLUMN_PID, COLUMN_UNIT };

static const AnswerColumn columns[] = {
        [MEMORY_COLUMN_WHO] = { "program", N_("PROGRAM"), ANSWER_TEXT },
        [MEMORY_COLUMN_GROWTH] = { "growth_bytes", N_("GREW BY"), ANSWER_BYTES },
        [COLUMN_FIRST] = { "first_bytes", N_("FROM"), ANSWER_BYTES },
        [COLUMN_LAST] = { "last_bytes", N_("TO"), ANSWER_BYTES },
        [COLUMN_MOST] = { "most_bytes", N_("AT MOST"), ANSWER_BYTES },
        [COLUMN_PID] = { "pid", N_("PID"), ANSWER_COUNT },
        [COLUMN_UNIT] = { "unit", N_("UNIT"), ANSWER_TEXT },
};

typedef struct Growth {
        uint32_t upid;
        double first, last, most;
} Growth;

typedef struct Growths {
        Growth *growths;
        size_t n, n_allocated;
        TraceMap places; /* by process */
} Growths;

static void growths_deinit(Growths *growths) {
        free(growths->growths);
        trace_map_deinit(&growths->places);
}

static int take_value(Growths *growths, uint32_t upid, double value) {
        uint64_t place = trace_map_find(&growths->places, upid);

        if (place != TRACE_MAP_NONE) {
                growths->growths[place].last = value;
                growths->growths[place].most = MAX(growths->growths[place].most, value);
                return 0;
        }
        if (trace_reserve((void **)&growths->growths,
                          &growths->n_allocated,
                          growths->n + 1,
                          sizeof(*growths->growths)) ||
            trace_map_set(&growths->places, upid, growths->n))
                return -ENOMEM;
        growths->growths[growths->n++] =
                (Growth){ .upid = upid, .first = value, .last = value, .most = value };
        return 0;
}

static int collect(Growths *growths, const AnswerQuestion *question, uint32_t name) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_COUNTER],
                         *tracks = &question->store->tables[TRACE_TABLE_TRACK];
        int r = 0;

        for (uint32_t row = answer_time_find(table, question->start); r == 0 && row < table->n;
             row++) {
                uint32_t track = trace_table_get(table, COUNTER_TRACK, row);
                double value = trace_table_double(table, COUNTER_VALUE, row);

                if (trace_table_i64(table, COUNTER_TS, row) > question->end)
                        break;
                if (track >= tracks->n || trace_table_get(tracks, TRACK_NAME, track) != name ||
                    trace_table_get(tracks, TRACK_UPID, track) == TRACE_NONE || value != value)
                        continue;
                r = take_value(growths, trace_table_get(tracks, TRACK_UPID, track), value);
        }
        return r;
}

static int compare_growths(const void *x, const void *y) {
        const Growth *a = x, *b = y;
        double more_a = a->last - a->first, more_b = b->last - b->first;

        if (more_a != more_b)
                return more_a > more_b ? -1 : 1;
        return a->upid < b->upid ? -1 : a->upid > b->upid;
}

static void put_growth(Answer *answer, const TraceStore *store, const Growth *growth) {
        const TraceTable *processes = &store->tables[TRACE_TABLE_PROCESS];
        AnswerValue *cells = answer_add_row(answer);
        uint32_t unit;
        int64_t pid;

        if (!cells || growth->upid >= processes->n)
                return;
        answer_set_name(answer,
                        &cells[MEMORY_COLUMN_WHO],
                        store,
                        trace_table_get(processes, PROCESS_NAME, growth->upid));
        answer_set(&cells[MEMORY_COLUMN_GROWTH], time_of_real(growth->last - growth->first));
        answer_set(&cells[COLUMN_FIRST], time_of_real(growth->first));
        answer_set(&cells[COLUMN_LAST], time_of_real(growth->last));
        answer_set(&cells[COLUMN_MOST], time_of_real(growth->most));
        if (trace_table_number(processes, PROCESS_PID, growth->upid, &pid))
                answer_set(&cells[COLUMN_PID], pid);
        unit = answer_who_unit_of_process(store, growth->upid);
        answer_set_name(answer, &cells[COLUMN_UNIT], store, unit);
}

static int memory_find(Answer *answer, const AnswerQuestion *question) {
        _cleanup_(growths_deinit) Growths growths = { 0 };
        uint32_t name = trace_pool_find(&question->store->pool, "mem.rss", strlen("mem.rss"));
        int r = name ? collect(&growths, question, name) : 0;

        if (r)
                return r;
        if (growths.n == 0)
                return ANSWER_E_NOTHING;
        qsort(growths.growths, growths.n, sizeof(*growths.growths), compare_growths);
        for (size_t i = 0; i < growths.n; i++)
                put_growth(answer, question->store, &growths.growths[i]);
        answer_set(&answer->facts[MEMORY_FACT_PROCESSES], (int64_t)growths.n);
        return 0;
}

const AnswerDef answer_memory = {
        .name = "memory",
        .record = "desktrace record -p memory",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = memory_find,
};
