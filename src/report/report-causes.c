/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The answers are those of "desktrace why" (answers/), in the same sentences, about the whole recording.
 *
 * A name with enough slices counts as something that happens again and again; the names whose slowest slice exceeded
 * the usual time most come first. A slice inside another one that is shown is part of its explanation.
 */

#include "report/report-causes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "answers/answer-questions.h"
#include "answers/answer-slices.h"
#include "answers/answer-states.h"
#include "answers/answer-time.h"
#include "shared/text.h"
#include "trace/trace-heap.h"
#include "trace/trace-map.h"
#include "trace/trace-stack-text.h"

#define SLOWEST_SHOWN       3  /* names */
#define SLOWEST_ASKED       12 /* those inside of others are left out */
#define RECURRING_MIN       10
#define MACHINE_ANSWER_ROWS 1
#define HEAP_ROWS           5
#define HEAP_FRAMES         8u

static AnswerQuestion question_of(const ReportSentences *sentences, size_t n_rows_max) {
        AnswerQuestion question = { .store = sentences->content->store, .n_rows_max = n_rows_max };

        if (!answer_time_bounds(question.store, &question.zero, &question.last))
                question.zero = question.last = 0;
        question.start = question.zero;
        question.end = question.last;
        return question;
}

/* Returns NULL if the recording has no answer to this question, or the caller wants none. */
static Answer *
ask(ReportSentences *sentences, const AnswerDef *def, const AnswerQuestion *question) {
        Answer *answer = NULL;
        int r = sentences->tell ? answer_find(&answer, def, question) : 0;

        if (r == -ENOMEM)
                sentences->error = r;
        return answer;
}

/* A column of a question, by its name for programs; NULL: no such column, or an empty cell. */
static const AnswerValue *cell_of(const Answer *answer, size_t row, const char *key) {
        for (size_t i = 0; i < answer->def->n_columns; i++)
                if (streq(answer->def->columns[i].key, key)) {
                        const AnswerValue *value = answer_cell(answer, row, i);

                        return value->is_there ? value : NULL;
                }
        return NULL;
}

/* The sentences; the first `n_linked` of them are linked. */
static void put_told(ReportSentences *sentences, const Answer *answer, const ReportPlace *place) {
        _cleanup_(freep) char *text = sentences->tell(answer);
        char *rest = text, *line;
        bool is_first = true;

        while ((line = strsep(&rest, "\n")))
                if (*line && is_first) {
                        report_item_begin(sentences, line, place);
                        is_first = false;
                } else if (*line) {
                        report_item_add(sentences, line);
                }
}

/*
 * One slice
 */

static void put_most_of_it(ReportSentences *sentences, const Answer *answer) {
        const AnswerValue *what = cell_of(answer, 0, "what"), *who = cell_of(answer, 0, "who"),
                          *ns = cell_of(answer, 0, "ns");
        char text[REPORT_SENTENCE_BYTES], duration[TEXT_SIZE_BYTES];

        if (!what || !ns)
                return;
        text_format_duration(duration, (uint64_t)ns->number);
        if (who)
                snprintf(text,
                         sizeof(text),
                         report_translated(sentences, N_("Most of it: %s %s, %s.")),
                         report_translated(sentences, what->word),
                         who->word ? report_translated(sentences, who->word) : who->text,
                         duration);
        else
                snprintf(text,
                         sizeof(text),
                         report_translated(sentences, N_("Most of it: %s, %s.")),
                         report_translated(sentences, what->word),
                         duration);
        report_item_add(sentences, text);
}

static Answer *ask_about(ReportSentences *sentences, const AnswerDef *def, uint32_t row) {
        AnswerQuestion question = question_of(sentences, 1);
        char id[sizeof("id:") + REPORT_NUMBER_BYTES];

        snprintf(id, sizeof(id), "id:%" PRIu32, row);
        question.slice = id;
        return ask(sentences, def, &question);
}

/* What ended the longest time in which a thread neither ran nor was ready to run; TRACE_NONE if no thread ended it. */
static uint32_t find_waker(const AnswerStates *states, int64_t from, int64_t to) {
        uint32_t waker = TRACE_NONE;
        int64_t longest = 0;

        for (size_t i = 0; i < states->n && answer_states_begin(states, i) < to; i++) {
                AnswerState state = answer_state_of(states->store, states->rows[i]);
                int64_t end = answer_states_end(states, i);
                int64_t ns = time_overlap(answer_states_begin(states, i), end, from, to);

                if (state == ANSWER_STATE_RAN || state == ANSWER_STATE_RUNNABLE || ns <= longest ||
                    end > to)
                        continue;
                longest = ns;
                waker = answer_states_waker(states, i);
        }
        return waker == ANSWER_INTERRUPT ? TRACE_NONE : waker;
}

/* What another thread did meanwhile: a thread may wait for one that is waiting, too. */
static void put_meanwhile(ReportSentences *sentences,
                          const AnswerStates *states,
                          uint32_t utid,
                          int64_t from,
                          int64_t to) {
        const TraceTable *threads = &sentences->content->store->tables[TRACE_TABLE_THREAD];
        _cleanup_(freep) char *name =
                report_name_of(sentences, trace_table_get(threads, THREAD_NAME, utid));
        char who[REPORT_SENTENCE_NAME_BYTES + REPORT_NUMBER_BYTES], text[REPORT_SENTENCE_BYTES],
                ran[TEXT_SIZE_BYTES], waited[TEXT_SIZE_BYTES], blocked[TEXT_SIZE_BYTES];
        const ReportPlace place = { .from_ns = from, .to_ns = to, .who = who };
        int64_t sums[_ANSWER_STATES], tid = 0;

        answer_states_add_up(states, from, to, sums);
        trace_table_number(threads, THREAD_TID, utid, &tid);
        snprintf(who, sizeof(who), "%s %" PRId64, name ? name : "?", tid);
        text_format_duration(ran, (uint64_t)sums[ANSWER_STATE_RAN]);
        text_format_duration(waited, (uint64_t)sums[ANSWER_STATE_RUNNABLE]);
        text_format_duration(
                blocked,
                (uint64_t)time_add(sums[ANSWER_STATE_IO],
                                   time_add(sums[ANSWER_STATE_BLOCKED], sums[ANSWER_STATE_SLEPT])));
        snprintf(text,
                 sizeof(text),
                 report_translated(sentences,
                                   N_("Meanwhile %s ran for %s, waited for a CPU for %s, and was "
                                      "blocked or asleep for %s.")),
                 who,
                 ran,
                 waited,
                 blocked);
        report_item_add_link(sentences, text, &place);
}

/* The states of the slice's thread; 0, or -ENOMEM. */
static int states_of(AnswerStates *states, const ReportSentences *sentences, uint32_t utid) {
        return answer_states_init(
                states, sentences->content->store, utid, question_of(sentences, 0).last);
}

static void put_waker(ReportSentences *sentences, uint32_t row) {
        const AnswerQuestion question = question_of(sentences, 0);
        uint32_t utid = answer_slice_thread(question.store, row), waker = TRACE_NONE;
        int64_t from = answer_slice_ts(question.store, row), to = answer_slice_end(&question, row);
        AnswerStates states = { 0 };
        int r = states_of(&states, sentences, utid);

        if (r == 0)
                waker = find_waker(&states, from, to);
        answer_states_deinit(&states);
        if (r == 0 && waker != TRACE_NONE && waker != utid) {
                states = (AnswerStates){ 0 };
                r = states_of(&states, sentences, waker);
                if (r == 0)
                        put_meanwhile(sentences, &states, waker, from, to);
                answer_states_deinit(&states);
        }
        if (r)
                sentences->error = r;
}

/* A slice without a thread, or without scheduling data, has no rows. */
void report_cause_of_slice(ReportSentences *sentences, uint32_t row) {
        _cleanup_(answer_freep) Answer *answer = ask_about(sentences, &answer_slice, row);

        if (!answer || answer->n_rows == 0)
                return;
        put_most_of_it(sentences, answer);
        if (sentences->error == 0)
                put_waker(sentences, row);
}

/*
 * The slowest of what happens again and again
 */

typedef struct Recurring {
        uint32_t name, longest;
        uint64_t n;
        int64_t total_ns, longest_ns;
} Recurring;

typedef struct Recurrences {
        Recurring *items;
        size_t n, n_allocated;
        TraceMap numbers; /* name → item */
} Recurrences;

static void recurrences_deinit(Recurrences *all) {
        free(all->items);
        trace_map_deinit(&all->numbers);
}

static Recurring *recurring_of(Recurrences *all, uint32_t name) {
        uint64_t number = trace_map_find(&all->numbers, name);

        if (number != TRACE_MAP_NONE)
                return &all->items[number];
        if (trace_reserve(
                    (void **)&all->items, &all->n_allocated, all->n + 1, sizeof(*all->items)) ||
            trace_map_set(&all->numbers, name, all->n))
                return NULL;
        all->items[all->n] = (Recurring){ .name = name };
        return &all->items[all->n++];
}

static int count_names(Recurrences *all, const TraceStore *store) {
        const TraceTable *slices = &store->tables[TRACE_TABLE_SLICE];

        for (uint32_t row = 0; row < slices->n; row++) {
                int64_t ns = answer_slice_dur(store, row);
                Recurring *item;

                if (ns <= 0)
                        continue;
                item = recurring_of(all, trace_table_get(slices, SLICE_NAME, row));
                if (!item)
                        return -ENOMEM;
                item->n++;
                item->total_ns = time_add(item->total_ns, ns);
                if (ns > item->longest_ns) {
                        item->longest = row;
                        item->longest_ns = ns;
                }
        }
        return 0;
}

/* Uses means: the usual time in the answer itself is a median, which would have to be found for each name. */
static int64_t excess_of(const Recurring *item) {
        return item->n < RECURRING_MIN ? 0 : item->longest_ns - item->total_ns / (int64_t)item->n;
}

static int compare_excess(const void *x, const void *y) {
        const Recurring *a = x, *b = y;

        if (excess_of(a) != excess_of(b))
                return excess_of(a) > excess_of(b) ? -1 : 1;
        return a->longest < b->longest ? -1 : a->longest > b->longest;
}

static bool is_inside(const TraceStore *store, uint32_t row, uint32_t other) {
        const TraceTable *slices = &store->tables[TRACE_TABLE_SLICE];
        int64_t ts = answer_slice_ts(store, row), other_ts = answer_slice_ts(store, other);

        return trace_table_get(slices, SLICE_TRACK, row) ==
                       trace_table_get(slices, SLICE_TRACK, other) &&
               trace_table_get(slices, SLICE_DEPTH, row) >
                       trace_table_get(slices, SLICE_DEPTH, other) &&
               ts >= other_ts && ts < time_add(other_ts, answer_slice_dur(store, other));
}

/* Whether the slow part of it slowed another slice by about as much: then only that one is shown. */
static bool is_part_of_others(const TraceStore *store, const Recurring *items, size_t n, size_t i) {
        for (size_t k = 0; k < n; k++)
                if (excess_of(&items[k]) >= excess_of(&items[i]) / 2 &&
                    is_inside(store, items[i].longest, items[k].longest))
                        return true;
        return false;
}

static bool put_slowest(ReportSentences *sentences, const Recurring *item) {
        const TraceStore *store = sentences->content->store;
        const TraceTable *slices = &store->tables[TRACE_TABLE_SLICE];
        AnswerQuestion question = question_of(sentences, 1);
        int64_t ts = answer_slice_ts(store, item->longest);
        const ReportPlace place = { .from_ns = ts,
                                    .to_ns = time_add(ts, item->longest_ns),
                                    .what = "track",
                                    .number = trace_table_get(slices, SLICE_TRACK, item->longest) };
        const char *text = trace_pool_text(&store->pool, item->name);
        _cleanup_(freep) char *named = text ? answer_slice_named(text) : NULL;
        Answer *answer;

        question.slice = named;
        answer = named ? ask(sentences, &answer_slowest, &question) : NULL;
        if (!answer)
                return false;
        put_told(sentences, answer, &place);
        answer_free(answer);
        report_cause_of_slice(sentences, item->longest);
        report_item_end(sentences);
        return true;
}

void report_slowest(ReportSentences *sentences) {
        _cleanup_(recurrences_deinit) Recurrences all = { 0 };
        const TraceStore *store = sentences->content->store;
        size_t n_shown = 0, n_asked;

        if (!sentences->tell)
                return;
        if (count_names(&all, store)) {
                sentences->error = -ENOMEM;
                return;
        }
        if (all.n)
                qsort(all.items, all.n, sizeof(*all.items), compare_excess);
        if (all.n == 0 || excess_of(&all.items[0]) <= 0)
                return;
        n_asked = MIN(all.n, (size_t)SLOWEST_ASKED);
        report_list_begin(sentences, N_("The slowest of what happens again and again, and why"));
        for (size_t i = 0; i < n_asked && n_shown < SLOWEST_SHOWN; i++)
                if (excess_of(&all.items[i]) > 0 &&
                    !is_part_of_others(store, all.items, n_asked, i))
                        n_shown += put_slowest(sentences, &all.items[i]);
        report_list_end(sentences);
}

/*
 * The machine
 */

/* Where the answer's first row had its longest time. */
static bool
place_of_answer(const Answer *answer, const AnswerQuestion *question, ReportPlace *ret) {
        const AnswerValue *at = answer->n_rows ? cell_of(answer, 0, "longest_at") : NULL, *ns, *who;

        if (!at)
                return false;
        ns = cell_of(answer, 0, "longest_ns");
        who = cell_of(answer, 0, "thread");
        *ret = (ReportPlace){ .from_ns = time_add(question->zero, at->number),
                              .who = who ? who->text : NULL };
        ret->to_ns = time_add(ret->from_ns, ns ? ns->number : 0);
        return true;
}

static void put_machine_answer(ReportSentences *sentences, const AnswerDef *def) {
        const AnswerQuestion question = question_of(sentences, MACHINE_ANSWER_ROWS);
        _cleanup_(answer_freep) Answer *answer = ask(sentences, def, &question);
        ReportPlace place;

        if (!answer)
                return;
        put_told(sentences, answer, place_of_answer(answer, &question, &place) ? &place : NULL);
        report_item_end(sentences);
}

void report_machine_answers(ReportSentences *sentences) {
        static const AnswerDef *const defs[] = { &answer_cpu,    &answer_waits,
                                                 &answer_disk,   &answer_interrupts,
                                                 &answer_memory, &answer_wakeups,
                                                 &answer_journal };

        if (!sentences->tell || sentences->content->store->tables[TRACE_TABLE_SCHED].n == 0)
                return;
        report_list_begin(sentences, N_("What the machine did"));
        for (size_t i = 0; i < ARRAY_SIZE(defs); i++)
                put_machine_answer(sentences, defs[i]);
        report_list_end(sentences);
}

/*
 * Heaps
 */

static const char *format_bytes(char *buffer, int64_t n_bytes) {
        return text_format_size(buffer, (uint64_t)MAX(n_bytes, INT64_C(0)));
}

/* The rows that grew the most come first. */
static void put_growth(ReportSentences *sentences, const Answer *answer, size_t row) {
        const AnswerValue *who = answer_cell(answer, row, GROWS_COLUMN_WHO),
                          *growth = answer_cell(answer, row, GROWS_COLUMN_GROWTH),
                          *left = answer_cell(answer, row, GROWS_COLUMN_LEFT),
                          *stack = answer_cell(answer, row, GROWS_COLUMN_STACK);
        const char *name = who->text ? who->text : "?", *at = stack->text ? stack->text : "?";
        char text[REPORT_SENTENCE_BYTES], size[TEXT_SIZE_BYTES];

        if (growth->number > 0)
                snprintf(text,
                         sizeof(text),
                         report_translated(sentences, N_("%s has %s more in use from %s.")),
                         name,
                         format_bytes(size, growth->number),
                         at);
        else if (left->number > 0)
                snprintf(text,
                         sizeof(text),
                         report_translated(sentences, N_("%s did not free %s from %s.")),
                         name,
                         format_bytes(size, left->number),
                         at);
        else
                return;
        report_item(sentences, text, NULL);
}

static int64_t freed_soon(const ReportSentences *sentences, uint32_t row) {
        return trace_table_i64(&sentences->content->store->tables[TRACE_TABLE_HEAP_SITE],
                               HEAP_SITE_SUMS + TRACE_HEAP_FREED_SOON,
                               row);
}

static void put_churn(ReportSentences *sentences, uint32_t row) {
        const TraceStore *store = sentences->content->store;
        const TraceTable *sites = &store->tables[TRACE_TABLE_HEAP_SITE];
        const TraceTable *processes = &store->tables[TRACE_TABLE_PROCESS];
        const uint32_t upid = trace_table_get(sites, HEAP_SITE_UPID, row);
        _cleanup_(freep) char *name =
                upid < processes->n
                        ? report_name_of(sentences, trace_table_get(processes, PROCESS_NAME, upid))
                        : NULL;
        _cleanup_(freep) char *stack = trace_stack_text(
                store, trace_table_get(sites, HEAP_SITE_CALLSITE, row), HEAP_FRAMES, false);
        char text[REPORT_SENTENCE_BYTES], size[TEXT_SIZE_BYTES];

        snprintf(text,
                 sizeof(text),
                 report_translated(sentences,
                                   N_("%s freed %s within 10 ms of allocating it, from %s.")),
                 name ? name : "?",
                 format_bytes(size, freed_soon(sentences, row)),
                 stack ? stack : "?");
        report_item(sentences, text, NULL);
}

static void put_most_churn(ReportSentences *sentences) {
        const TraceTable *sites = &sentences->content->store->tables[TRACE_TABLE_HEAP_SITE];
        uint32_t most = TRACE_NONE;

        for (uint32_t row = 0; row < sites->n; row++)
                if (freed_soon(sentences, row) >
                    (most == TRACE_NONE ? 0 : freed_soon(sentences, most)))
                        most = row;
        if (most != TRACE_NONE)
                put_churn(sentences, most);
}

void report_heap_answers(ReportSentences *sentences) {
        const AnswerQuestion question = question_of(sentences, HEAP_ROWS);
        _cleanup_(answer_freep) Answer *answer = NULL;

        if (!sentences->tell || sentences->content->store->tables[TRACE_TABLE_HEAP_SITE].n == 0)
                return;
        answer = ask(sentences, &answer_grows, &question);
        if (!answer)
                return;
        report_list_begin(sentences, N_("What programs have on their heaps"));
        put_told(sentences, answer, NULL);
        report_item_end(sentences);
        for (size_t row = 0; row < answer->n_rows; row++)
                put_growth(sentences, answer, row);
        put_most_churn(sentences);
        report_list_end(sentences);
}

/*
 * Losses
 */

static void put_loss(ReportSentences *sentences, const Answer *answer, size_t row) {
        const AnswerValue *name = cell_of(answer, row, "name"), *n = cell_of(answer, row, "n"),
                          *means = cell_of(answer, row, "means");
        char number[REPORT_NUMBER_BYTES], text[REPORT_SENTENCE_BYTES];

        snprintf(number, sizeof(number), "%" PRId64, n ? n->number : 0);
        snprintf(text,
                 sizeof(text),
                 report_translated(sentences, N_("No: %s (%s). This means: %s.")),
                 name ? name->text : "?",
                 number,
                 means ? report_translated(sentences, means->word) : "?");
        report_item(sentences, text, NULL);
}

void report_losses(ReportSentences *sentences) {
        const AnswerQuestion question = question_of(sentences, 0);
        _cleanup_(answer_freep) Answer *answer = NULL;
        int r = answer_find(&answer, &answer_losses, &question);

        if (r) {
                sentences->error = r;
                return;
        }
        report_list_begin(sentences, N_("Is it complete?"));
        for (size_t row = 0; row < answer->n_rows; row++)
                put_loss(sentences, answer, row);
        if (answer->n_rows == 0)
                report_item(sentences,
                            report_translated(sentences,
                                              N_("Yes: nothing was lost while it was recorded.")),
                            NULL);
        else if (sentences->tell) {
                put_told(sentences, answer, NULL);
                report_item_end(sentences);
        }
        report_list_end(sentences);
}
