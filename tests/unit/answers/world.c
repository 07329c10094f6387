/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "world.h"

#include "answers/answer-questions.h"
#include "answers/answer-time.h"

#include "test.h"

static TraceTable *table_of(World *world, TraceTableId id) {
        return trace_store_table(world->store, id);
}

static uint32_t add(World *world, TraceTableId id) {
        uint32_t row = trace_table_add(table_of(world, id));

        ck_assert_uint_ne(row, TRACE_NONE);
        return row;
}

static void
set_name(World *world, TraceTableId id, unsigned column, uint32_t row, const char *text) {
        if (text)
                trace_table_set(table_of(world, id),
                                column,
                                row,
                                trace_pool_add_text(&world->store->pool, text));
}

void world_init(World *world) {
        *world = (World){ 0 };
        ck_assert_int_eq(trace_store_new(&world->store, 64u << 20), 0);
        world_process(world, 0, NULL);
        world_thread(world, 0, "swapper", 0);
}

void world_deinit(World *world) {
        answer_free(world->answer);
        trace_store_free(world->store);
}

uint32_t world_process(World *world, int pid, const char *name) {
        uint32_t row = add(world, TRACE_TABLE_PROCESS);

        trace_table_set(table_of(world, TRACE_TABLE_PROCESS), PROCESS_PID, row, (uint32_t)pid);
        set_name(world, TRACE_TABLE_PROCESS, PROCESS_NAME, row, name);
        return row;
}

uint32_t world_thread(World *world, int tid, const char *name, uint32_t upid) {
        uint32_t row = add(world, TRACE_TABLE_THREAD);

        trace_table_set(table_of(world, TRACE_TABLE_THREAD), THREAD_TID, row, (uint32_t)tid);
        set_name(world, TRACE_TABLE_THREAD, THREAD_NAME, row, name);
        if (upid != TRACE_NONE)
                trace_table_set(table_of(world, TRACE_TABLE_THREAD), THREAD_UPID, row, upid);
        return row;
}

uint32_t world_track(World *world, uint32_t utid) {
        uint32_t row = add(world, TRACE_TABLE_TRACK);

        if (utid != TRACE_NONE)
                trace_table_set(table_of(world, TRACE_TABLE_TRACK), TRACK_UTID, row, utid);
        return row;
}

uint32_t world_slice(World *world, uint32_t track, const char *name, int64_t ts, int64_t dur) {
        TraceTable *table = table_of(world, TRACE_TABLE_SLICE);
        uint32_t row = add(world, TRACE_TABLE_SLICE);

        trace_table_set_i64(table, SLICE_TS, row, ts);
        trace_table_set_i64(table, SLICE_DUR, row, dur);
        trace_table_set(table, SLICE_TRACK, row, track);
        set_name(world, TRACE_TABLE_SLICE, SLICE_NAME, row, name);
        return row;
}

void world_run(World *world, uint32_t cpu, uint32_t utid, int64_t ts, int64_t dur) {
        TraceTable *table = table_of(world, TRACE_TABLE_SCHED);
        uint32_t row = add(world, TRACE_TABLE_SCHED);

        trace_table_set_i64(table, SCHED_TS, row, ts);
        trace_table_set_i64(table, SCHED_DUR, row, dur);
        trace_table_set(table, SCHED_CPU, row, cpu);
        trace_table_set(table, SCHED_UTID, row, utid);
}

uint32_t world_state(World *world,
                     uint32_t utid,
                     const char *state,
                     int64_t ts,
                     int64_t dur,
                     uint32_t waker) {
        TraceTable *table = table_of(world, TRACE_TABLE_STATE);
        uint32_t row = add(world, TRACE_TABLE_STATE), name;

        name = trace_pool_add_text(&world->store->pool, state);
        trace_table_set_i64(table, STATE_TS, row, ts);
        trace_table_set_i64(table, STATE_DUR, row, dur);
        trace_table_set(table, STATE_UTID, row, utid);
        trace_table_set(table, STATE_STATE, row, trace_store_state(world->store, name));
        if (waker != TRACE_NONE)
                trace_table_set(table, STATE_WAKER_UTID, row, waker);
        return row;
}

uint32_t world_runs(World *world, uint32_t cpu, uint32_t utid, int64_t ts, int64_t dur) {
        uint32_t row = world_state(world, utid, RUNNING, ts, dur, TRACE_NONE);

        trace_table_set(table_of(world, TRACE_TABLE_STATE), STATE_CPU, row, cpu);
        world_run(world, cpu, utid, ts, dur);
        return row;
}

void world_counter(World *world, uint32_t upid, const char *name, int64_t ts, double value) {
        TraceTable *tracks = table_of(world, TRACE_TABLE_TRACK),
                   *table = table_of(world, TRACE_TABLE_COUNTER);
        uint32_t track = add(world, TRACE_TABLE_TRACK), row = add(world, TRACE_TABLE_COUNTER);

        set_name(world, TRACE_TABLE_TRACK, TRACK_NAME, track, name);
        trace_table_set(tracks, TRACK_UPID, track, upid);
        trace_table_set_i64(table, COUNTER_TS, row, ts);
        trace_table_set(table, COUNTER_TRACK, row, track);
        trace_table_set_double(table, COUNTER_VALUE, row, value);
}

uint32_t world_clock_track(World *world, uint32_t cpu) {
        uint32_t track = add(world, TRACE_TABLE_TRACK);

        set_name(world, TRACE_TABLE_TRACK, TRACK_NAME, track, "cpufreq");
        trace_table_set(table_of(world, TRACE_TABLE_TRACK), TRACK_CPU, track, cpu);
        return track;
}

void world_clock(World *world, uint32_t track, int64_t ts, double khz) {
        TraceTable *table = table_of(world, TRACE_TABLE_COUNTER);
        uint32_t row = add(world, TRACE_TABLE_COUNTER);

        trace_table_set_i64(table, COUNTER_TS, row, ts);
        trace_table_set(table, COUNTER_TRACK, row, track);
        trace_table_set_double(table, COUNTER_VALUE, row, khz);
}

void world_metadata(World *world, const char *name, const char *text) {
        trace_store_add_metadata(
                world->store, name, trace_pool_add_text(&world->store->pool, text));
}

void world_log(World *world, int64_t ts, unsigned priority, const char *text) {
        TraceTable *table = table_of(world, TRACE_TABLE_LOG);
        uint32_t row = add(world, TRACE_TABLE_LOG);

        trace_table_set_i64(table, LOG_TS, row, ts);
        trace_table_set(table, LOG_PRIO, row, priority);
        set_name(world, TRACE_TABLE_LOG, LOG_MSG, row, text);
}

static int ask(World *world, const char *name, AnswerQuestion *question) {
        const AnswerDef *def = answer_def_find(name);

        ck_assert_ptr_nonnull(def);
        world->answer = answer_free(world->answer);
        return answer_find(&world->answer, def, question);
}

int world_ask_between(World *world,
                      const char *name,
                      const char *slice,
                      int64_t start,
                      int64_t end) {
        AnswerQuestion question = { .store = world->store, .slice = slice };

        if (!answer_time_bounds(world->store, &question.zero, &question.last))
                question.zero = question.last = 0;
        question.start = MAX(start, question.zero);
        question.end = MIN(end, question.last);
        return ask(world, name, &question);
}

int world_ask(World *world, const char *name, const char *slice) {
        return world_ask_between(world, name, slice, INT64_MIN, INT64_MAX);
}

static const AnswerValue *
find_value(const AnswerColumn *columns, size_t n, const AnswerValue *values, const char *key) {
        for (size_t i = 0; i < n; i++)
                if (streq(columns[i].key, key))
                        return &values[i];
        ck_abort_msg("there is no '%s'", key);
}

static const AnswerValue *find_fact(const World *world, const char *key) {
        const AnswerDef *def = world->answer->def;

        return find_value(def->facts, def->n_facts, world->answer->facts, key);
}

static const AnswerValue *find_cell(const World *world, size_t row, const char *key) {
        const AnswerDef *def = world->answer->def;

        ck_assert_uint_lt(row, world->answer->n_rows);
        return find_value(def->columns, def->n_columns, answer_cell(world->answer, row, 0), key);
}

/* The least number there is for nothing, which no answer has. */
static int64_t number_of(const AnswerValue *value) {
        return value->is_there ? value->number : INT64_MIN;
}

static const char *text_of(const AnswerValue *value) {
        return value->word ? value->word : value->text ? value->text : "";
}

int64_t world_fact(const World *world, const char *key) {
        return number_of(find_fact(world, key));
}

const char *world_fact_text(const World *world, const char *key) {
        return text_of(find_fact(world, key));
}

int64_t world_number(const World *world, size_t row, const char *key) {
        return number_of(find_cell(world, row, key));
}

const char *world_text(const World *world, size_t row, const char *key) {
        return text_of(find_cell(world, row, key));
}

double world_real(const World *world, size_t row, const char *key) {
        return find_cell(world, row, key)->real;
}
