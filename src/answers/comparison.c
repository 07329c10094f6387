/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Comparison: recordings of two sides, by name */

#include "answers/comparison.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "answers/answer-slices.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"
#include "answers/comparison-heap.h"
#include "answers/statistics.h"
#include "shared/quantile.h"

typedef struct ComparisonItem {
        uint32_t name;
        double *values[2]; /* of recordings */
        size_t n[2], n_allocated[2];
        double medians[2], change, low, high, p;
        bool is_tested, has_interval;
} ComparisonItem;

typedef struct ComparisonTime {
        uint32_t recording; /* in names */
        int64_t start, end;
} ComparisonTime;

int comparison_init(Comparison *comparison, ComparisonMetric metric, const char *only) {
        *comparison = (Comparison){ .metric = metric, .only = only };
        return trace_pool_init(&comparison->names);
}

void comparison_deinit(Comparison *comparison) {
        for (size_t i = 0; i < comparison->n; i++)
                for (size_t side = 0; side < 2; side++)
                        free(comparison->items[i].values[side]);
        for (size_t side = 0; side < 2; side++)
                free(comparison->times[side]);
        comparison_conditions_deinit(&comparison->conditions);
        free(comparison->items);
        trace_map_deinit(&comparison->places);
        trace_pool_deinit(&comparison->names);
}

static ComparisonItem *find_item(Comparison *comparison, const char *text) {
        uint32_t name = trace_pool_add_text(&comparison->names, text);
        uint64_t place = trace_map_find(&comparison->places, name);

        if (place != TRACE_MAP_NONE)
                return &comparison->items[place];
        if (!name ||
            trace_reserve((void **)&comparison->items,
                          &comparison->n_allocated,
                          comparison->n + 1,
                          sizeof(*comparison->items)) ||
            trace_map_set(&comparison->places, name, comparison->n))
                return NULL;
        comparison->items[comparison->n] = (ComparisonItem){ .name = name };
        return &comparison->items[comparison->n++];
}

static int add_number(double **values, size_t *n_allocated, size_t n, double value) {
        if (trace_reserve((void **)values, n_allocated, n + 1, sizeof(**values)))
                return -ENOMEM;
        (*values)[n] = value;
        return 0;
}

static int add_value(Comparison *comparison, unsigned side, const char *name, double value) {
        ComparisonItem *item;

        if (!name || (comparison->only && !streq(name, comparison->only)))
                return 0;
        item = find_item(comparison, name);
        if (!item)
                return -ENOMEM;
        return add_number(&item->values[side], &item->n_allocated[side], item->n[side]++, value);
}

/*
 * Values of one recording
 */

typedef struct Named {
        uint32_t name;
        double value;
} Named;

static int compare_named(const void *x, const void *y) {
        const Named *a = x, *b = y;

        return a->name < b->name ? -1 : a->name > b->name;
}

static double value_of(ComparisonMetric metric, double *values, size_t n, double seconds) {
        double sum = 0;

        if (metric == COMPARISON_P50 || metric == COMPARISON_P99)
                return quantile(values, n, metric == COMPARISON_P50 ? 0.5 : 0.99);
        for (size_t i = 0; i < n; i++)
                sum += values[i];
        return sum / seconds;
}

/* One value for each name. */
static int add_named(Comparison *comparison,
                     unsigned side,
                     const TraceStore *store,
                     Named *named,
                     size_t n,
                     double seconds) {
        size_t n_min = comparison->metric == COMPARISON_P99 ? COMPARISON_P99_MIN : 1;
        _cleanup_(freep) double *values = reallocarray(NULL, n + 1, sizeof(*values));
        int r = values ? 0 : -ENOMEM;

        if (n)
                qsort(named, n, sizeof(*named), compare_named);
        for (size_t i = 0, end; r == 0 && i < n; i = end) {
                for (end = i; end < n && named[end].name == named[i].name; end++)
                        values[end - i] = named[end].value;
                if (end - i >= n_min)
                        r = add_value(comparison,
                                      side,
                                      trace_pool_text(&store->pool, named[i].name),
                                      value_of(comparison->metric, values, end - i, seconds));
        }
        return r;
}

static size_t name_slices(const TraceStore *store, const ComparisonPart *part, Named *ret) {
        const TraceTable *table = &store->tables[TRACE_TABLE_SLICE];
        size_t n = 0;

        for (uint32_t row = answer_time_find(table, part->start);
             row < table->n && answer_slice_ts(store, row) <= part->end;
             row++)
                if (answer_slice_dur(store, row) > 0)
                        ret[n++] = (Named){ .name = trace_table_get(table, SLICE_NAME, row),
                                            .value = (double)answer_slice_dur(store, row) };
        return n;
}

static size_t
name_runs(const TraceStore *store, const ComparisonPart *part, Named *ret, double *ret_busy) {
        const TraceTable *table = &store->tables[TRACE_TABLE_SCHED];
        size_t n = 0;

        *ret_busy = 0;
        for (uint32_t row = 0; row < table->n; row++) {
                uint32_t utid = trace_table_get(table, SCHED_UTID, row);
                int64_t ts = trace_table_i64(table, SCHED_TS, row),
                        dur = trace_table_i64(table, SCHED_DUR, row);

                if (utid == 0 || dur <= 0)
                        continue;
                dur = time_overlap(ts, time_add(ts, dur), part->start, part->end);
                if (dur == 0)
                        continue;
                *ret_busy += (double)dur;
                ret[n++] = (Named){ .name = answer_who_program(store, utid), .value = (double)dur };
        }
        return n;
}

static int add_heaps(Comparison *comparison, unsigned side, const TraceStore *store, int64_t at) {
        ComparisonHeap heap;
        int r = comparison_heap_init(&heap, store, at);

        for (size_t i = 0; r == 0 && i < heap.n; i++)
                r = add_value(comparison,
                              side,
                              trace_pool_text(&heap.stacks, heap.items[i].stack),
                              (double)heap.items[i].n_bytes);
        comparison_heap_deinit(&heap);
        return r;
}

static int add_time(Comparison *comparison, unsigned side, const ComparisonPart *part) {
        ComparisonTime time = { .start = part->start, .end = part->end };

        if (!part->recording)
                return 0;
        time.recording = trace_pool_add_text(&comparison->names, part->recording);
        if (trace_reserve((void **)&comparison->times[side],
                          &comparison->n_allocated_times[side],
                          comparison->n_times[side] + 1,
                          sizeof(time)))
                return -ENOMEM;
        comparison->times[side][comparison->n_times[side]++] = time;
        return 0;
}

int comparison_add(Comparison *comparison,
                   unsigned side,
                   const TraceStore *store,
                   const ComparisonPart *part) {
        size_t n_max = MAX(store->tables[TRACE_TABLE_SLICE].n, store->tables[TRACE_TABLE_SCHED].n);
        _cleanup_(freep) Named *named = reallocarray(NULL, n_max + 1, sizeof(*named));
        ComparisonPart whole = { 0 };
        double seconds, busy;
        size_t n;
        int r;

        if (!named)
                return -ENOMEM;
        answer_time_bounds(store, &whole.start, &whole.end);
        if (!part)
                part = &whole;
        seconds = part->end > part->start ? (double)time_since(part->end, part->start) / 1e9 : 1e-9;
        n = name_runs(store, part, named, &busy);
        if (comparison->metric != COMPARISON_CPU)
                n = name_slices(store, part, named);
        if (comparison->metric == COMPARISON_HEAP)
                r = add_heaps(comparison, side, store, part->end);
        else
                r = add_named(comparison, side, store, named, n, seconds);
        if (r == 0)
                r = add_time(comparison, side, part);
        if (r == 0)
                r = comparison_conditions_add(&comparison->conditions,
                                              side,
                                              store,
                                              &comparison->names,
                                              part->start,
                                              part->end,
                                              busy);
        return r;
}

/*
 * What changed
 */

static const AnswerColumn facts[] = {
        [DIFF_FACT_A] = { "recordings_a", NULL, ANSWER_COUNT },
        [DIFF_FACT_B] = { "recordings_b", NULL, ANSWER_COUNT },
        [DIFF_FACT_KERNEL_A] = { "kernel_a", NULL, ANSWER_TEXT },
        [DIFF_FACT_KERNEL_B] = { "kernel_b", NULL, ANSWER_TEXT },
        [DIFF_FACT_SYSTEM_A] = { "system_a", NULL, ANSWER_TEXT },
        [DIFF_FACT_SYSTEM_B] = { "system_b", NULL, ANSWER_TEXT },
        [DIFF_FACT_PROCESSOR_A] = { "processor_a", NULL, ANSWER_TEXT },
        [DIFF_FACT_PROCESSOR_B] = { "processor_b", NULL, ANSWER_TEXT },
        [DIFF_FACT_CPUS_A] = { "cpus_a", NULL, ANSWER_TEXT },
        [DIFF_FACT_CPUS_B] = { "cpus_b", NULL, ANSWER_TEXT },
        [DIFF_FACT_SOURCES_A] = { "data_sources_a", NULL, ANSWER_TEXT },
        [DIFF_FACT_SOURCES_B] = { "data_sources_b", NULL, ANSWER_TEXT },
        [DIFF_FACT_SAME_SYSTEM] = { "same_system", NULL, ANSWER_COUNT },
        [DIFF_FACT_SAME_CONFIG] = { "same_config", NULL, ANSWER_COUNT },
        [DIFF_FACT_SECONDS_A] = { "seconds_a", NULL, ANSWER_REAL },
        [DIFF_FACT_SECONDS_B] = { "seconds_b", NULL, ANSWER_REAL },
        [DIFF_FACT_BUSY_A] = { "busy_a", NULL, ANSWER_SHARE },
        [DIFF_FACT_BUSY_B] = { "busy_b", NULL, ANSWER_SHARE },
        [DIFF_FACT_HZ_A] = { "hz_a", NULL, ANSWER_REAL },
        [DIFF_FACT_HZ_B] = { "hz_b", NULL, ANSWER_REAL },
        [DIFF_FACT_LOSSY] = { "with_losses", NULL, ANSWER_COUNT },
        [DIFF_FACT_SHARED] = { "on_both_sides", NULL, ANSWER_COUNT },
        [DIFF_FACT_OVERLAPPING] = { "overlapping", NULL, ANSWER_COUNT },
        [DIFF_FACT_TESTED] = { "names_tested", NULL, ANSWER_COUNT },
        [DIFF_FACT_CHANGED] = { "changed", NULL, ANSWER_COUNT },
        [DIFF_FACT_TOO_FEW] = { "too_few", NULL, ANSWER_COUNT },
};
static const AnswerColumn columns[] = {
        [DIFF_COLUMN_NAME] = { "name", N_("NAME"), ANSWER_TEXT },
        [DIFF_COLUMN_A] = { "a_ns", "A", ANSWER_NS },
        [DIFF_COLUMN_B] = { "b_ns", "B", ANSWER_NS },
        [DIFF_COLUMN_CHANGE] = { "change", N_("CHANGE"), ANSWER_SHARE },
        [DIFF_COLUMN_LOW] = { "change_low", N_("AT LEAST"), ANSWER_SHARE },
        [DIFF_COLUMN_HIGH] = { "change_high", N_("AT MOST"), ANSWER_SHARE },
        [DIFF_COLUMN_P] = { "p", "P", ANSWER_PROBABILITY },
        [DIFF_COLUMN_VERDICT] = { "verdict", N_("VERDICT"), ANSWER_WORD },
        [DIFF_COLUMN_N_A] = { "recordings_a", NULL, ANSWER_COUNT },
        [DIFF_COLUMN_N_B] = { "recordings_b", NULL, ANSWER_COUNT },
};

static const AnswerColumn heap_columns[] = {
        [DIFF_COLUMN_NAME] = { "stack", N_("STACK"), ANSWER_TEXT },
        [DIFF_COLUMN_A] = { "a_bytes", "A", ANSWER_BYTES },
        [DIFF_COLUMN_B] = { "b_bytes", "B", ANSWER_BYTES },
        [DIFF_COLUMN_CHANGE] = { "change", N_("CHANGE"), ANSWER_SHARE },
        [DIFF_COLUMN_LOW] = { "change_low", N_("AT LEAST"), ANSWER_SHARE },
        [DIFF_COLUMN_HIGH] = { "change_high", N_("AT MOST"), ANSWER_SHARE },
        [DIFF_COLUMN_P] = { "p", "P", ANSWER_PROBABILITY },
        [DIFF_COLUMN_VERDICT] = { "verdict", N_("VERDICT"), ANSWER_WORD },
        [DIFF_COLUMN_N_A] = { "recordings_a", NULL, ANSWER_COUNT },
        [DIFF_COLUMN_N_B] = { "recordings_b", NULL, ANSWER_COUNT },
        [DIFF_COLUMN_GROWTH] = { "growth_bytes", N_("GREW BY"), ANSWER_BYTES },
};

const AnswerDef answer_diff_heap = {
        .name = "diff",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_SCHED | TRACE_PART_STACKS,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = heap_columns,
        .n_columns = ARRAY_SIZE(heap_columns),
};

const AnswerDef answer_diff = {
        .name = "diff",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_SCHED,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
};

const AnswerDef *comparison_def(ComparisonMetric metric) {
        return metric == COMPARISON_HEAP ? &answer_diff_heap : &answer_diff;
}

static const char verdict_more[] = N_("more"), verdict_less[] = N_("less"),
                  verdict_same[] = N_("no difference shown"), verdict_few[] = N_("too few"),
                  verdict_a[] = N_("only in A"), verdict_b[] = N_("only in B");

static void item_measure(ComparisonItem *item) {
        for (size_t side = 0; side < 2; side++)
                if (item->n[side])
                        item->medians[side] = statistics_median(item->values[side], item->n[side]);
        if (!item->n[0] || !item->n[1] || item->medians[0] <= 0)
                return;
        item->change = item->medians[1] / item->medians[0] - 1;
        item->has_interval = statistics_ratio_interval(
                item->values[0], item->n[0], item->values[1], item->n[1], &item->low, &item->high);
        item->is_tested = MIN(item->n[0], item->n[1]) >= STATISTICS_DIFFERENT_MIN;
        if (item->is_tested)
                item->p =
                        statistics_rank_p(item->values[0], item->n[0], item->values[1], item->n[1]);
}

/* A recording that has nothing in use from a call stack has 0 bytes there; one in which a program never ran has no
 * value. */
static int fill_heaps(Comparison *comparison) {
        for (size_t i = 0; i < comparison->n; i++)
                for (size_t side = 0; side < 2; side++) {
                        ComparisonItem *item = &comparison->items[i];

                        while (item->n[side] < comparison->conditions.sides[side].n)
                                if (add_number(&item->values[side],
                                               &item->n_allocated[side],
                                               item->n[side]++,
                                               0))
                                        return -ENOMEM;
                }
        return 0;
}

static int correct_all(Comparison *comparison) {
        _cleanup_(freep) double *p = reallocarray(NULL, comparison->n + 1, sizeof(*p));
        size_t n = 0;

        if (!p)
                return -ENOMEM;
        for (size_t i = 0; i < comparison->n; i++)
                if (comparison->items[i].is_tested) {
                        if (comparison->items[i].p < 0)
                                return -ENOMEM;
                        p[n++] = comparison->items[i].p;
                }
        if (!statistics_correct(p, n))
                return -ENOMEM;
        comparison->n_tested = n;
        n = 0;
        for (size_t i = 0; i < comparison->n; i++)
                if (comparison->items[i].is_tested)
                        comparison->items[i].p = p[n++];
        return 0;
}

static bool item_changed(const ComparisonItem *item) {
        return item->is_tested && item->p < COMPARISON_LEVEL &&
               fabs(item->change) > COMPARISON_CHANGE;
}

/* Whether there are too few recordings to show any difference, however large. */
static bool item_is_hopeless(const Comparison *comparison, const ComparisonItem *item) {
        return !item->is_tested ||
               statistics_rank_p_min(item->n[0], item->n[1]) * (double)comparison->n_tested >=
                       COMPARISON_LEVEL;
}

static bool item_is_on(const Comparison *comparison, const ComparisonItem *item, unsigned side) {
        return comparison->metric == COMPARISON_HEAP ? item->medians[side] > 0 : item->n[side] > 0;
}

static const char *item_verdict(const Comparison *comparison, const ComparisonItem *item) {
        if (!item_is_on(comparison, item, 0) || !item_is_on(comparison, item, 1))
                return item_is_on(comparison, item, 0) ? verdict_a : verdict_b;
        if (item_changed(item))
                return item->change > 0 ? verdict_more : verdict_less;
        return item_is_hopeless(comparison, item) ? verdict_few : verdict_same;
}

static int compare_items(const void *x, const void *y) {
        const ComparisonItem *a = x, *b = y;
        double weight_a = fabs(a->change), weight_b = fabs(b->change);

        if (item_changed(a) != item_changed(b))
                return item_changed(a) ? -1 : 1;
        if (weight_a != weight_b)
                return weight_a > weight_b ? -1 : 1;
        return a->name < b->name ? -1 : a->name > b->name;
}

static int compare_heaps(const void *x, const void *y) {
        const ComparisonItem *a = x, *b = y;
        const double growth_a = a->medians[1] - a->medians[0],
                     growth_b = b->medians[1] - b->medians[0];

        if (growth_a != growth_b)
                return growth_a > growth_b ? -1 : 1;
        return a->name < b->name ? -1 : a->name > b->name;
}

static void put_growth(Answer *answer, AnswerValue *cells, const ComparisonItem *item) {
        if (answer->def == &answer_diff_heap)
                answer_set(
                        &cells[DIFF_COLUMN_GROWTH],
                        time_since(time_of_real(item->medians[1]), time_of_real(item->medians[0])));
}

static void put_item(Answer *answer, const Comparison *comparison, const ComparisonItem *item) {
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        answer_set_text(
                answer, &cells[DIFF_COLUMN_NAME], trace_pool_text(&comparison->names, item->name));
        for (unsigned side = 0; side < 2; side++)
                if (item->n[side])
                        answer_set(&cells[DIFF_COLUMN_A + side], time_of_real(item->medians[side]));
        if (item->n[0] && item->n[1] && item->medians[0] > 0)
                answer_set_real(&cells[DIFF_COLUMN_CHANGE], item->change);
        if (item->has_interval) {
                answer_set_real(&cells[DIFF_COLUMN_LOW], item->low - 1);
                answer_set_real(&cells[DIFF_COLUMN_HIGH], item->high - 1);
        }
        if (item->is_tested)
                answer_set_real(&cells[DIFF_COLUMN_P], item->p);
        answer_set_word(&cells[DIFF_COLUMN_VERDICT], item_verdict(comparison, item));
        answer_set(&cells[DIFF_COLUMN_N_A], (int64_t)item->n[0]);
        answer_set(&cells[DIFF_COLUMN_N_B], (int64_t)item->n[1]);
        put_growth(answer, cells, item);
}

/* A recording that is on both sides; with `overlaps` only if its times overlap. */
static bool is_on_both(const Comparison *comparison, const ComparisonTime *a, bool overlaps) {
        for (size_t i = 0; i < comparison->n_times[1]; i++) {
                const ComparisonTime *b = &comparison->times[1][i];

                if (a->recording == b->recording &&
                    (!overlaps || time_overlap(a->start, a->end, b->start, b->end) > 0))
                        return true;
        }
        return false;
}

static size_t count_on_both(const Comparison *comparison, bool overlaps) {
        size_t n = 0;

        for (size_t i = 0; i < comparison->n_times[0]; i++)
                n += is_on_both(comparison, &comparison->times[0][i], overlaps);
        return n;
}

static void put_figure(Answer *answer,
                       const ComparisonConditions *conditions,
                       ConditionNumber number,
                       unsigned fact) {
        for (unsigned side = 0; side < 2; side++) {
                double median = comparison_conditions_median(conditions, side, number);

                if (!isnan(median))
                        answer_set_real(&answer->facts[fact + side], median);
        }
}

static void put_conditions(Answer *answer, Comparison *comparison) {
        const ComparisonConditions *conditions = &comparison->conditions;
        AnswerValue *values = answer->facts;
        bool is_same_system = true;

        for (unsigned side = 0; side < 2; side++) {
                answer_set(&values[DIFF_FACT_A + side], (int64_t)conditions->sides[side].n);
                for (unsigned i = 0; i < N_CONDITION_TEXTS; i++)
                        answer_set_text(answer,
                                        &values[DIFF_FACT_KERNEL_A + 2 * i + side],
                                        comparison_conditions_text(
                                                conditions, side, i, &comparison->names));
        }
        for (unsigned i = 0; i < CONDITION_SOURCES; i++)
                is_same_system &= comparison_conditions_is_same(conditions, i);
        answer_set(&values[DIFF_FACT_SAME_SYSTEM], is_same_system);
        answer_set(&values[DIFF_FACT_SAME_CONFIG],
                   comparison_conditions_is_same(conditions, CONDITION_SOURCES));
        put_figure(answer, conditions, CONDITION_SECONDS, DIFF_FACT_SECONDS_A);
        put_figure(answer, conditions, CONDITION_BUSY, DIFF_FACT_BUSY_A);
        put_figure(answer, conditions, CONDITION_HZ, DIFF_FACT_HZ_A);
        answer_set(&values[DIFF_FACT_SHARED], (int64_t)count_on_both(comparison, false));
        answer_set(&values[DIFF_FACT_OVERLAPPING], (int64_t)count_on_both(comparison, true));
        answer_set(&values[DIFF_FACT_LOSSY],
                   (int64_t)(conditions->sides[0].n_lossy + conditions->sides[1].n_lossy));
}

static void put_items(Answer *answer, const Comparison *comparison) {
        size_t n_changed = 0, n_few = 0;

        for (size_t i = 0; i < comparison->n; i++) {
                const ComparisonItem *item = &comparison->items[i];

                n_changed += item_changed(item);
                n_few += item->n[0] && item->n[1] && item_is_hopeless(comparison, item);
                put_item(answer, comparison, item);
        }
        answer_set(&answer->facts[DIFF_FACT_TESTED], (int64_t)comparison->n_tested);
        answer_set(&answer->facts[DIFF_FACT_CHANGED], (int64_t)n_changed);
        answer_set(&answer->facts[DIFF_FACT_TOO_FEW], (int64_t)n_few);
}

int comparison_answer(Comparison *comparison, size_t n_rows_max, Answer **ret) {
        _cleanup_(answer_freep) Answer *answer = NULL;
        const AnswerDef *def = comparison_def(comparison->metric);
        int r = comparison->metric == COMPARISON_HEAP ? fill_heaps(comparison) : 0;

        if (r)
                return r;
        for (size_t i = 0; i < comparison->n; i++)
                item_measure(&comparison->items[i]);
        r = correct_all(comparison);
        if (r == 0)
                r = answer_new(&answer, def, n_rows_max);
        if (r)
                return r;
        if (comparison->n) {
                qsort(comparison->items,
                      comparison->n,
                      sizeof(*comparison->items),
                      comparison->metric == COMPARISON_HEAP ? compare_heaps : compare_items);
                trace_map_clear(&comparison->places); /* they have moved to the result */
        }
        put_conditions(answer, comparison);
        put_items(answer, comparison);
        if (answer->has_no_memory)
                return -ENOMEM;
        *ret = TAKE(answer);
        return 0;
}

bool comparison_change(const Comparison *comparison, const char *name, double *ret) {
        for (size_t i = 0; i < comparison->n; i++) {
                const ComparisonItem *item = &comparison->items[i];

                if (!streq(trace_pool_text(&comparison->names, item->name), name))
                        continue;
                *ret = item->change;
                return item->n[0] && item->n[1] && item->medians[0] > 0;
        }
        return false;
}
