/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Which functions used the CPUs, and in which ones threads slept, by samples of call stacks
 *
 * Samples are added up by call site, and then each call site's stack is walked once. A function is one name in one
 * file; all code of a file that has no name is one function. A recursive function counts once in a stack. Threads sleep
 * in the kernel, so for sleep the innermost function of the program counts.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/answer-questions.h"
#include "answers/answer-slices.h"
#include "answers/answer-tally.h"
#include "answers/answer-time.h"
#include "trace/trace-stack-text.h"
#include "trace/trace-stacks.h"

static const AnswerColumn facts[] = {
        [FUNCTIONS_FACT_N] = { "samples", NULL, ANSWER_COUNT },
        [FUNCTIONS_FACT_NO_STACK] = { "without_stack", NULL, ANSWER_COUNT },
        [FUNCTIONS_FACT_NO_NAME] = { "without_name", NULL, ANSWER_COUNT },
};

enum { COLUMN_N = FUNCTIONS_COLUMN_SHARE + 1, COLUMN_ALL_SHARE, COLUMN_ALL, COLUMN_FILE };

static const AnswerColumn columns[] = {
        [FUNCTIONS_COLUMN_NAME] = { "function", N_("FUNCTION"), ANSWER_TEXT },
        [FUNCTIONS_COLUMN_SHARE] = { "share", N_("SHARE"), ANSWER_SHARE },
        [COLUMN_N] = { "samples", N_("SAMPLES"), ANSWER_COUNT },
        [COLUMN_ALL_SHARE] = { "with_callees_share", N_("WITH CALLEES"), ANSWER_SHARE },
        [COLUMN_ALL] = { "with_callees", NULL, ANSWER_COUNT },
        [COLUMN_FILE] = { "file", N_("FILE"), ANSWER_TEXT },
};

static const AnswerColumn sleep_facts[] = {
        [FUNCTIONS_FACT_N] = { "slept_ns", NULL, ANSWER_NS },
        [FUNCTIONS_FACT_NO_STACK] = { "without_stack_ns", NULL, ANSWER_NS },
        [FUNCTIONS_FACT_NO_NAME] = { "without_name_ns", NULL, ANSWER_NS },
};

static const AnswerColumn sleep_columns[] = {
        [FUNCTIONS_COLUMN_NAME] = { "function", N_("FUNCTION"), ANSWER_TEXT },
        [FUNCTIONS_COLUMN_SHARE] = { "share", N_("SHARE"), ANSWER_SHARE },
        [COLUMN_N] = { "slept_ns", N_("SLEPT"), ANSWER_NS },
        [COLUMN_ALL_SHARE] = { "with_callees_share", N_("WITH CALLEES"), ANSWER_SHARE },
        [COLUMN_ALL] = { "with_callees_ns", NULL, ANSWER_NS },
        [COLUMN_FILE] = { "file", N_("FILE"), ANSWER_TEXT },
};

#define SLEEP_SOURCE  "linux.offcpu"
#define KERNEL_MODULE "kernel"

typedef struct Functions {
        const AnswerQuestion *question;
        int64_t start, end;
        uint32_t utid; /* whose samples; TRACE_NONE: everybody's */
        bool is_sleep;
        uint64_t *n_at;        /* samples, or ns of sleep, by call site */
        AnswerTally self, all; /* by the key of a function */
        TraceMap met;          /* key → the last call site in whose stack it was seen */
        uint64_t n, n_no_stack, n_no_name;
} Functions;

static void functions_deinit(Functions *functions) {
        trace_map_deinit(&functions->met);
        free(functions->n_at);
        answer_tally_deinit(&functions->self);
        answer_tally_deinit(&functions->all);
}

static const TraceTable *table_of(const Functions *functions, TraceTableId id) {
        return &functions->question->store->tables[id];
}

/* The file is in the upper half, the name in the lower. */
static uint64_t frame_key(const Functions *functions, uint32_t frame) {
        uint32_t mapping =
                trace_table_get(table_of(functions, TRACE_TABLE_FRAME), FRAME_MAPPING_ID, frame);

        return (uint64_t)mapping << 32 | trace_frame_name(functions->question->store, frame);
}

static void count(Functions *functions, uint32_t utid, uint32_t callsite, uint64_t n) {
        if (functions->utid != TRACE_NONE && utid != functions->utid)
                return;
        functions->n += n;
        if (callsite < table_of(functions, TRACE_TABLE_CALLSITE)->n)
                functions->n_at[callsite] += n;
        else
                functions->n_no_stack += n;
}

/* Only the part of each that lies in the range. */
static void count_sleeps(Functions *functions) {
        const TraceTable *sleeps = table_of(functions, TRACE_TABLE_STACK_SAMPLE);
        const uint32_t source = trace_pool_find(
                &functions->question->store->pool, SLEEP_SOURCE, strlen(SLEEP_SOURCE));

        for (uint32_t row = 0; row < sleeps->n; row++) {
                int64_t from = trace_table_i64(sleeps, WEIGHED_TS, row),
                        to = time_add(from, trace_table_i64(sleeps, WEIGHED_WEIGHT, row));

                if (from > functions->end)
                        break;
                from = MAX(from, functions->start);
                to = MIN(to, functions->end);
                if (to > from && trace_table_get(sleeps, WEIGHED_SOURCE, row) == source)
                        count(functions,
                              trace_table_get(sleeps, WEIGHED_UTID, row),
                              trace_table_get(sleeps, WEIGHED_CALLSITE, row),
                              (uint64_t)(to - from));
        }
}

static void count_samples(Functions *functions) {
        const TraceTable *samples = table_of(functions, TRACE_TABLE_SAMPLE);

        for (uint32_t row = answer_time_find(samples, functions->start); row < samples->n; row++) {
                if (trace_table_i64(samples, PERF_TS, row) > functions->end)
                        break;
                count(functions,
                      trace_table_get(samples, PERF_UTID, row),
                      trace_table_get(samples, PERF_CALLSITE, row),
                      1);
        }
}

static int count_all(Functions *functions) {
        const size_t n_callsites = table_of(functions, TRACE_TABLE_CALLSITE)->n;

        functions->n_at = calloc(n_callsites + 1, sizeof(*functions->n_at));
        if (!functions->n_at)
                return -ENOMEM;
        if (functions->is_sleep)
                count_sleeps(functions);
        else
                count_samples(functions);
        return 0;
}

/* What the samples of one call site say about one function of its stack. */
static int count_function(Functions *functions, uint32_t callsite, uint32_t frame, bool is_inner) {
        const uint64_t key = frame_key(functions, frame);
        const int64_t n = (int64_t)functions->n_at[callsite];
        int r = 0;

        if (is_inner) {
                functions->n_no_name += (uint32_t)key ? 0 : (uint64_t)n;
                r = answer_tally_add_time(&functions->self, key, n);
        }
        if (r || trace_map_find(&functions->met, key) == callsite)
                return r;
        return trace_map_set(&functions->met, key, callsite)
                       ?: answer_tally_add_time(&functions->all, key, n);
}

static bool is_kernel(const Functions *functions, uint32_t callsite) {
        const TraceTable *callsites = table_of(functions, TRACE_TABLE_CALLSITE),
                         *frames = table_of(functions, TRACE_TABLE_FRAME),
                         *mappings = table_of(functions, TRACE_TABLE_MAPPING);
        uint32_t frame = trace_table_get(callsites, CALLSITE_FRAME, callsite), mapping;
        const char *name;

        if (frame >= frames->n)
                return false;
        mapping = trace_table_get(frames, FRAME_MAPPING_ID, frame);
        name = mapping < mappings->n
                       ? trace_pool_text(&functions->question->store->pool,
                                         trace_table_get(mappings, MAPPED_NAME, mapping))
                       : NULL;
        return name && streq(name[0] == '/' ? name + 1 : name, KERNEL_MODULE);
}

/* The innermost call site that counts: for sleep, the program's, or the kernel's if the stack has no other. */
static uint32_t find_inner(const Functions *functions, uint32_t callsite) {
        const TraceTable *callsites = table_of(functions, TRACE_TABLE_CALLSITE);
        uint32_t at = callsite;

        for (size_t i = 0; functions->is_sleep && at < callsites->n && i < TRACE_STACK_FRAMES_MAX;
             i++) {
                if (!is_kernel(functions, at))
                        return at;
                at = trace_table_get(callsites, CALLSITE_PARENT, at);
        }
        return callsite;
}

/* From the inside out. In a hostile file callers may form a circle. */
static int walk(Functions *functions, uint32_t from) {
        const TraceTable *callsites = table_of(functions, TRACE_TABLE_CALLSITE),
                         *frames = table_of(functions, TRACE_TABLE_FRAME);
        const uint32_t inner = find_inner(functions, from);
        uint32_t at = inner;
        int r = 0;

        for (size_t i = 0; at < callsites->n && i < TRACE_STACK_FRAMES_MAX && r == 0; i++) {
                uint32_t frame = trace_table_get(callsites, CALLSITE_FRAME, at);

                if (frame < frames->n)
                        r = count_function(functions, from, frame, at == inner);
                at = trace_table_get(callsites, CALLSITE_PARENT, at);
        }
        return r;
}

static int walk_all(Functions *functions) {
        size_t n = table_of(functions, TRACE_TABLE_CALLSITE)->n;
        int r = 0;

        for (uint32_t callsite = 0; callsite < n && r == 0; callsite++)
                if (functions->n_at[callsite])
                        r = walk(functions, callsite);
        return r;
}

static void put_function(Answer *answer, const Functions *functions, const AnswerTallyItem *item) {
        const TraceStore *store = functions->question->store;
        const TraceTable *mappings = table_of(functions, TRACE_TABLE_MAPPING);
        uint32_t name = (uint32_t)item->key, mapping = (uint32_t)(item->key >> 32);
        uint64_t place = trace_map_find(&functions->all.places, item->key);
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        if (name)
                answer_set_name(answer, &cells[FUNCTIONS_COLUMN_NAME], store, name);
        else
                answer_set_word(&cells[FUNCTIONS_COLUMN_NAME], N_("(without a name)"));
        answer_set(&cells[COLUMN_N], item->total_ns);
        answer_set_share(&cells[FUNCTIONS_COLUMN_SHARE], item->total_ns, (int64_t)functions->n);
        if (place != TRACE_MAP_NONE) {
                int64_t all = functions->all.items[place].total_ns;

                answer_set(&cells[COLUMN_ALL], all);
                answer_set_share(&cells[COLUMN_ALL_SHARE], all, (int64_t)functions->n);
        }
        if (mapping < mappings->n)
                answer_set_name(answer,
                                &cells[COLUMN_FILE],
                                store,
                                trace_table_get(mappings, MAPPED_NAME, mapping));
}

/* For a slice: only its own thread, and only while the slice lasted. */
static int choose_samples(Functions *functions) {
        const AnswerQuestion *question = functions->question;
        uint32_t row;

        if (!question->slice)
                return 0;
        row = answer_slice_find(question);
        if (row == TRACE_NONE)
                return ANSWER_E_NO_SLICE;
        functions->utid = answer_slice_thread(question->store, row);
        functions->start = answer_slice_ts(question->store, row);
        functions->end = answer_slice_end(question, row);
        return functions->utid == TRACE_NONE ? ANSWER_E_NOTHING : 0;
}

static int find(Answer *answer, const AnswerQuestion *question, bool is_sleep) {
        _cleanup_(functions_deinit) Functions functions = { .question = question,
                                                            .is_sleep = is_sleep,
                                                            .start = question->start,
                                                            .end = question->end,
                                                            .utid = TRACE_NONE };
        int r = choose_samples(&functions) ?: count_all(&functions);

        if (r == 0 && functions.n == 0)
                return ANSWER_E_NOTHING;
        if (r == 0)
                r = walk_all(&functions);
        if (r)
                return r;
        answer_tally_sort(&functions.self);
        for (size_t i = 0; i < functions.self.n; i++)
                put_function(answer, &functions, &functions.self.items[i]);
        answer_set(&answer->facts[FUNCTIONS_FACT_N], (int64_t)functions.n);
        answer_set(&answer->facts[FUNCTIONS_FACT_NO_STACK], (int64_t)functions.n_no_stack);
        answer_set(&answer->facts[FUNCTIONS_FACT_NO_NAME], (int64_t)functions.n_no_name);
        return 0;
}

static int functions_find(Answer *answer, const AnswerQuestion *question) {
        return find(answer, question, false);
}

static int sleeps_find(Answer *answer, const AnswerQuestion *question) {
        return find(answer, question, true);
}

const AnswerDef answer_sleeps = {
        .name = "sleeps",
        .record = "desktrace record --stacks-at=sleep",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_STACKS,
        .options = ANSWER_TAKES_SLICE,
        .facts = sleep_facts,
        .n_facts = ARRAY_SIZE(sleep_facts),
        .columns = sleep_columns,
        .n_columns = ARRAY_SIZE(sleep_columns),
        .find = sleeps_find,
};

const AnswerDef answer_functions = {
        .name = "functions",
        .record = "desktrace record --stacks",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_STACKS,
        .options = ANSWER_TAKES_SLICE,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = functions_find,
};
