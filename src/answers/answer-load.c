/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer load: for each interval in turn, who used the CPUs and which slices ended */

#include "answers/answer-load.h"

#include <errno.h>
#include <stdlib.h>

#include "answers/answer-cores.h"
#include "answers/answer-states.h"
#include "answers/answer-tally.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"

static const AnswerColumn load_facts[] = {
        [LOAD_FACT_BUSY] = { "busy_ns", NULL, ANSWER_NS },
        [LOAD_FACT_ALL] = { "available_ns", NULL, ANSWER_NS },
        [LOAD_FACT_SHARE] = { "share", NULL, ANSWER_SHARE },
        [LOAD_FACT_CPUS] = { "cpus", NULL, ANSWER_COUNT },
        [LOAD_FACT_OTHERS] = { "others_ns", NULL, ANSWER_NS },
        [LOAD_FACT_STALLED_CPU] = { "stalled_cpu_ns", NULL, ANSWER_NS },
        [LOAD_FACT_STALLED_MEMORY] = { "stalled_memory_ns", NULL, ANSWER_NS },
        [LOAD_FACT_STALLED_IO] = { "stalled_io_ns", NULL, ANSWER_NS },
};
static const AnswerColumn load_columns[] = {
        [LOAD_COLUMN_WHO] = { "who", N_("WHO"), ANSWER_TEXT },
        [LOAD_COLUMN_NS] = { "cpu_ns", N_("CPU TIME"), ANSWER_NS },
        [LOAD_COLUMN_WAITED] = { "waited_ns", N_("WAITED"), ANSWER_NS },
        [LOAD_COLUMN_THREADS] = { "threads", N_("THREADS"), ANSWER_COUNT },
};
static const AnswerColumn ended_columns[] = {
        [ENDED_COLUMN_NAME] = { "name", N_("NAME"), ANSWER_TEXT },
        [ENDED_COLUMN_N] = { "n", N_("TIMES"), ANSWER_COUNT },
        [ENDED_COLUMN_NS] = { "total_ns", N_("TOTAL"), ANSWER_NS },
        [ENDED_COLUMN_MAX] = { "max_ns", N_("LONGEST"), ANSWER_NS },
};

const AnswerDef answer_load = {
        .name = "load",
        .facts = load_facts,
        .n_facts = ARRAY_SIZE(load_facts),
        .columns = load_columns,
        .n_columns = ARRAY_SIZE(load_columns),
};
const AnswerDef answer_ended = {
        .name = "ended",
        .columns = ended_columns,
        .n_columns = ARRAY_SIZE(ended_columns),
};

/* The rows of a table that begin before a time; of the rows seen earlier, only those that had not ended. */
typedef struct Cursor {
        const TraceTable *table;
        unsigned ts, dur;
        uint32_t next;
        uint32_t *kept;
        size_t n_kept, n_allocated;
} Cursor;

struct AnswerLoad {
        const TraceStore *store;
        AnswerGroup group;
        size_t n_cpus;
        Cursor sched, states, slices;
};

/* Counts for one interval. */
typedef struct Interval {
        const AnswerLoad *load;
        int64_t from, to, busy_ns;
        AnswerTally cpu, waited; /* by the key of a group */
        AnswerTally ended;       /* by the name of a slice */
        TraceMap members;        /* key → one of its threads */
        TraceMap threads;        /* threads that have been counted */
} Interval;

typedef int (*RowVisitor)(Interval *interval, uint32_t row, int64_t ts, int64_t end);

static void interval_deinit(Interval *interval) {
        answer_tally_deinit(&interval->cpu);
        answer_tally_deinit(&interval->waited);
        answer_tally_deinit(&interval->ended);
        trace_map_deinit(&interval->members);
        trace_map_deinit(&interval->threads);
}

int answer_load_new(AnswerLoad **ret, const TraceStore *store, AnswerGroup group) {
        AnswerLoad *load = calloc(1, sizeof(*load));
        AnswerCores cores;
        int r;

        if (!load)
                return -ENOMEM;
        *load = (AnswerLoad){
                .store = store,
                .group = group,
                .sched = { &store->tables[TRACE_TABLE_SCHED], SCHED_TS, SCHED_DUR },
                .states = { &store->tables[TRACE_TABLE_STATE], STATE_TS, STATE_DUR },
                .slices = { &store->tables[TRACE_TABLE_SLICE], SLICE_TS, SLICE_DUR },
        };
        r = answer_cores_init(&cores, store);
        load->n_cpus = r == 0 ? cores.n_present : 0;
        answer_cores_deinit(&cores);
        if (r)
                load = answer_load_free(load);
        *ret = load;
        return r;
}

AnswerLoad *answer_load_free(AnswerLoad *load) {
        if (!load)
                return NULL;
        free(load->sched.kept);
        free(load->states.kept);
        free(load->slices.kept);
        free(load);
        return NULL;
}

/*
 * Going through tables
 */

static int cursor_keep(Cursor *cursor, uint32_t row) {
        if (trace_reserve((void **)&cursor->kept,
                          &cursor->n_allocated,
                          cursor->n_kept + 1,
                          sizeof(*cursor->kept)))
                return -ENOMEM;
        cursor->kept[cursor->n_kept++] = row;
        return 0;
}

/* A slice that never ended has no duration to count. */
static int cursor_visit(Cursor *cursor, Interval *interval, RowVisitor visit, uint32_t row) {
        int64_t ts = trace_table_i64(cursor->table, cursor->ts, row),
                dur = trace_table_i64(cursor->table, cursor->dur, row), end;
        int r;

        if (dur <= 0)
                return 0;
        end = time_add(ts, dur);
        r = visit(interval, row, ts, end);
        return r || end <= interval->to ? r : cursor_keep(cursor, row);
}

static int cursor_run(Cursor *cursor, Interval *interval, RowVisitor visit) {
        size_t n_kept = cursor->n_kept;
        int r = 0;

        cursor->n_kept = 0;
        for (size_t i = 0; i < n_kept && r == 0; i++)
                r = cursor_visit(cursor, interval, visit, cursor->kept[i]);
        while (r == 0 && cursor->next < cursor->table->n &&
               trace_table_i64(cursor->table, cursor->ts, cursor->next) < interval->to)
                r = cursor_visit(cursor, interval, visit, cursor->next++);
        return r;
}

/* Adds to a tally; a thread counts once. */
static int count_thread(Interval *interval, AnswerTally *tally, uint32_t utid, int64_t ns) {
        const AnswerLoad *load = interval->load;
        uint64_t key = answer_who_key(load->store, utid, load->group);
        int r;

        if (trace_map_find(&interval->threads, utid) == TRACE_MAP_NONE) {
                r = trace_map_set(&interval->threads, utid, 0)
                            ?: answer_tally_add(&interval->cpu, key, interval->from, 0);
                if (r)
                        return r;
        }
        return trace_map_set(&interval->members, key, utid)
                       ?: answer_tally_add_time(tally, key, ns);
}

static int visit_sched(Interval *interval, uint32_t row, int64_t ts, int64_t end) {
        uint32_t utid = trace_table_get(interval->load->sched.table, SCHED_UTID, row);
        int64_t ns = time_overlap(ts, end, interval->from, interval->to);

        if (utid == 0 || ns == 0)
                return 0;
        interval->busy_ns = time_add(interval->busy_ns, ns);
        return count_thread(interval, &interval->cpu, utid, ns);
}

static int visit_state(Interval *interval, uint32_t row, int64_t ts, int64_t end) {
        int64_t ns = time_overlap(ts, end, interval->from, interval->to);

        if (ns == 0 || answer_state_of(interval->load->store, row) != ANSWER_STATE_RUNNABLE)
                return 0;
        return count_thread(interval,
                            &interval->waited,
                            trace_table_get(interval->load->states.table, STATE_UTID, row),
                            ns);
}

/* The whole duration counts, in the interval in which the slice ends. */
static int visit_slice(Interval *interval, uint32_t row, int64_t ts, int64_t end) {
        if (end <= interval->from || end > interval->to)
                return 0;
        return answer_tally_add(&interval->ended,
                                trace_table_get(interval->load->slices.table, SLICE_NAME, row),
                                ts,
                                time_since(end, ts));
}

/*
 * The answers
 */

static void put_who(Answer *answer, const Interval *interval, const AnswerTallyItem *item) {
        const AnswerLoad *load = interval->load;
        uint64_t place = trace_map_find(&interval->waited.places, item->key);
        uint32_t utid = (uint32_t)trace_map_find(&interval->members, item->key);
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        answer_set_who(answer, &cells[LOAD_COLUMN_WHO], load->store, utid, load->group);
        answer_set(&cells[LOAD_COLUMN_NS], item->total_ns);
        answer_set(&cells[LOAD_COLUMN_THREADS], (int64_t)item->n);
        if (load->states.table->n)
                answer_set(&cells[LOAD_COLUMN_WAITED],
                           place == TRACE_MAP_NONE ? 0 : interval->waited.items[place].total_ns);
}

static void put_load(Answer *answer, Interval *interval) {
        int64_t range = time_since(interval->to, interval->from), all = 0;

        for (size_t i = 0; i < interval->load->n_cpus; i++)
                all = time_add(all, range);
        answer_tally_sort(&interval->cpu);
        for (size_t i = 0; i < interval->cpu.n; i++)
                put_who(answer, interval, &interval->cpu.items[i]);
        if (interval->load->n_cpus == 0)
                return;
        answer_set(&answer->facts[LOAD_FACT_BUSY], interval->busy_ns);
        answer_set(&answer->facts[LOAD_FACT_ALL], all);
        answer_set_share(&answer->facts[LOAD_FACT_SHARE], interval->busy_ns, all);
        answer_set(&answer->facts[LOAD_FACT_CPUS], (int64_t)interval->load->n_cpus);
        answer_set(&answer->facts[LOAD_FACT_OTHERS], 0);
}

static void put_ended(Answer *answer, Interval *interval) {
        answer_tally_sort(&interval->ended);
        for (size_t i = 0; i < interval->ended.n; i++) {
                const AnswerTallyItem *item = &interval->ended.items[i];
                AnswerValue *cells = answer_add_row(answer);

                if (!cells)
                        return;
                answer_set_name(answer,
                                &cells[ENDED_COLUMN_NAME],
                                interval->load->store,
                                (uint32_t)item->key);
                answer_set(&cells[ENDED_COLUMN_N], (int64_t)item->n);
                answer_set(&cells[ENDED_COLUMN_NS], item->total_ns);
                answer_set(&cells[ENDED_COLUMN_MAX], item->max_ns);
        }
}

static int interval_answer(Interval *interval, Answer **ret_load, Answer **ret_ended) {
        _cleanup_(answer_freep) Answer *load = NULL, *ended = NULL;
        int r = answer_new(&load, &answer_load, 0) ?: answer_new(&ended, &answer_ended, 0);

        if (r)
                return r;
        put_load(load, interval);
        put_ended(ended, interval);
        if (load->has_no_memory || ended->has_no_memory)
                return -ENOMEM;
        *ret_load = TAKE(load);
        *ret_ended = TAKE(ended);
        return 0;
}

int answer_load_next(AnswerLoad *load,
                     int64_t from,
                     int64_t to,
                     Answer **ret_load,
                     Answer **ret_ended) {
        _cleanup_(interval_deinit) Interval interval = { .load = load, .from = from, .to = to };
        int r = cursor_run(&load->sched, &interval, visit_sched)
                        ?: cursor_run(&load->states, &interval, visit_state)
                        ?: cursor_run(&load->slices, &interval, visit_slice);

        return r ?: interval_answer(&interval, ret_load, ret_ended);
}
