/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Where heaps grow, and what programs leave allocated when they end, by call stack
 *
 * A heap has grown by what is in use at its last dump in the range but was not at its first. So memory that a program
 * needs to start mostly does not count. Memory that was never freed is what a program had in use when it, or the
 * recording, ended. Of several recordings of one heap at the same time the first counts.
 */

#include <errno.h>
#include <stdlib.h>

#include "answers/answer-questions.h"
#include "answers/answer-time.h"
#include "trace/trace-heap.h"
#include "trace/trace-map.h"
#include "trace/trace-stack-text.h"

#define FRAMES_SHOWN 8u

static const AnswerColumn facts[] = {
        [GROWS_FACT_SEVERAL] = { "heaps_with_several_dumps", NULL, ANSWER_COUNT },
        [GROWS_FACT_ONCE] = { "heaps_with_one_dump", NULL, ANSWER_COUNT },
        [GROWS_FACT_ENDED] = { "heaps_at_exit", NULL, ANSWER_COUNT },
        [GROWS_FACT_FIRST] = { "first_bytes", NULL, ANSWER_BYTES },
        [GROWS_FACT_LAST] = { "last_bytes", NULL, ANSWER_BYTES },
        [GROWS_FACT_GROWTH] = { "growth_bytes", NULL, ANSWER_BYTES },
        [GROWS_FACT_LEFT] = { "not_freed_bytes", NULL, ANSWER_BYTES },
        [GROWS_FACT_MOST_LEFT] = { "most_not_freed_bytes", NULL, ANSWER_BYTES },
        [GROWS_FACT_MOST_LEFT_WHO] = { "most_not_freed_program", NULL, ANSWER_TEXT },
        [GROWS_FACT_MOST_LEFT_AT] = { "most_not_freed_stack", NULL, ANSWER_TEXT },
        [GROWS_FACT_MOST_THREAD] = { "most_growing_thread_bytes", NULL, ANSWER_BYTES },
        [GROWS_FACT_MOST_THREAD_WHO] = { "most_growing_thread_program", NULL, ANSWER_TEXT },
        [GROWS_FACT_MOST_THREAD_NAME] = { "most_growing_thread", NULL, ANSWER_TEXT },
};

enum { COLUMN_PID = GROWS_COLUMN_STACK + 1, COLUMN_HEAP, COLUMN_CALLSITE };

static const AnswerColumn columns[] = {
        [GROWS_COLUMN_WHO] = { "program", N_("PROGRAM"), ANSWER_TEXT },
        [GROWS_COLUMN_GROWTH] = { "growth_bytes", N_("GREW BY"), ANSWER_BYTES },
        [GROWS_COLUMN_FIRST] = { "first_bytes", N_("FROM"), ANSWER_BYTES },
        [GROWS_COLUMN_LAST] = { "last_bytes", N_("TO"), ANSWER_BYTES },
        [GROWS_COLUMN_LEFT] = { "not_freed_bytes", N_("NOT FREED"), ANSWER_BYTES },
        [GROWS_COLUMN_THREAD] = { "thread", N_("THREAD"), ANSWER_TEXT },
        [GROWS_COLUMN_STACK] = { "stack", N_("STACK"), ANSWER_TEXT },
        [COLUMN_PID] = { "pid", NULL, ANSWER_COUNT },
        [COLUMN_HEAP] = { "heap", NULL, ANSWER_TEXT },
        [COLUMN_CALLSITE] = { "callsite_id", NULL, ANSWER_COUNT },
};

typedef struct Heap {
        uint32_t upid, name;
        uint64_t n_dumps; /* in the range */
        int64_t first_at, last_at;
        bool has_ended;
} Heap;

typedef struct GrowingSite {
        uint32_t heap; /* place */
        uint32_t callsite;
        uint32_t thread; /* a name; 0: it is not known */
        int64_t first, last, left;
        bool has_growth, has_left;
} GrowingSite;

/* By name, of a process. */
typedef struct GrowingThread {
        uint32_t heap; /* any of its process's */
        uint32_t name;
        int64_t growth;
} GrowingThread;

typedef struct Grows {
        const AnswerQuestion *question;
        Heap *heaps;
        size_t n_heaps, n_heaps_allocated;
        TraceMap heap_places; /* process and name → index */
        GrowingSite *sites;
        size_t n_sites, n_sites_allocated;
        TraceMap site_places; /* heap and call site → index */
        GrowingThread *threads;
        size_t n_threads, n_threads_allocated;
        TraceMap thread_places; /* process and name → index */
} Grows;

static void grows_deinit(Grows *grows) {
        free(grows->heaps);
        free(grows->sites);
        free(grows->threads);
        trace_map_deinit(&grows->heap_places);
        trace_map_deinit(&grows->site_places);
        trace_map_deinit(&grows->thread_places);
}

static Heap *heap_of(Grows *grows, uint32_t upid, uint32_t name) {
        const uint64_t key = (uint64_t)upid << 32 | name,
                       place = trace_map_find(&grows->heap_places, key);

        if (place != TRACE_MAP_NONE)
                return &grows->heaps[place];
        if (trace_reserve((void **)&grows->heaps,
                          &grows->n_heaps_allocated,
                          grows->n_heaps + 1,
                          sizeof(*grows->heaps)) ||
            trace_map_set(&grows->heap_places, key, grows->n_heaps))
                return NULL;
        grows->heaps[grows->n_heaps] = (Heap){ .upid = upid, .name = name };
        return &grows->heaps[grows->n_heaps++];
}

static GrowingSite *site_of(Grows *grows, const Heap *heap, uint32_t callsite) {
        const uint32_t number = (uint32_t)(heap - grows->heaps);
        const uint64_t key = (uint64_t)number << 32 | callsite,
                       place = trace_map_find(&grows->site_places, key);

        if (place != TRACE_MAP_NONE)
                return &grows->sites[place];
        if (trace_reserve((void **)&grows->sites,
                          &grows->n_sites_allocated,
                          grows->n_sites + 1,
                          sizeof(*grows->sites)) ||
            trace_map_set(&grows->site_places, key, grows->n_sites))
                return NULL;
        grows->sites[grows->n_sites] = (GrowingSite){
                .heap = number,
                .callsite = callsite,
                .thread = trace_stack_thread(grows->question->store, callsite),
        };
        return &grows->sites[grows->n_sites++];
}

/* All rows of one dump have the same time. */
static void count_dump(Heap *heap, int64_t at) {
        if (heap->n_dumps == 0)
                heap->first_at = at;
        if (heap->n_dumps == 0 || at != heap->last_at)
                heap->n_dumps++;
        heap->last_at = at;
}

/* Memory that was in use before the range is in the first dump, too. */
static int take_change(Grows *grows, uint32_t row) {
        const TraceTable *table = &grows->question->store->tables[TRACE_TABLE_HEAP];
        const int64_t at = trace_table_i64(table, HEAP_TS, row),
                      size = trace_table_i64(table, HEAP_SIZE, row);
        Heap *heap;
        GrowingSite *site;

        if (trace_table_get(table, HEAP_RECORDING, row) > 0)
                return 0;
        heap = heap_of(grows,
                       trace_table_get(table, HEAP_UPID, row),
                       trace_table_get(table, HEAP_HEAP, row));
        site = heap ? site_of(grows, heap, trace_table_get(table, HEAP_CALLSITE, row)) : NULL;
        if (!site)
                return -ENOMEM;
        if (at >= grows->question->start)
                count_dump(heap, at);
        if (heap->n_dumps == 0 || at == heap->first_at)
                site->first = time_add(site->first, size);
        site->last = time_add(site->last, size);
        return 0;
}

static int take_left(Grows *grows, uint32_t row) {
        const TraceTable *table = &grows->question->store->tables[TRACE_TABLE_HEAP_SITE];
        Heap *heap;
        GrowingSite *site;

        if (trace_table_i64(table, HEAP_SITE_AT_EXIT, row) == 0 ||
            trace_table_get(table, HEAP_SITE_RECORDING, row) > 0)
                return 0;
        heap = heap_of(grows,
                       trace_table_get(table, HEAP_SITE_UPID, row),
                       trace_table_get(table, HEAP_SITE_HEAP, row));
        site = heap ? site_of(grows, heap, trace_table_get(table, HEAP_SITE_CALLSITE, row)) : NULL;
        if (!site)
                return -ENOMEM;
        heap->has_ended = true;
        site->has_left = true;
        site->left = time_add(
                site->left,
                time_since(trace_table_i64(table, HEAP_SITE_SUMS + TRACE_HEAP_ALLOCATED, row),
                           trace_table_i64(table, HEAP_SITE_SUMS + TRACE_HEAP_FREED, row)));
        return 0;
}

static int collect(Grows *grows) {
        const AnswerQuestion *question = grows->question;
        const TraceTable *changes = &question->store->tables[TRACE_TABLE_HEAP],
                         *sites = &question->store->tables[TRACE_TABLE_HEAP_SITE];
        int r = 0;

        for (uint32_t row = 0; r == 0 && row < changes->n; row++) {
                if (trace_table_i64(changes, HEAP_TS, row) > question->end)
                        break;
                r = take_change(grows, row);
        }
        for (uint32_t row = 0; question->end >= question->last && r == 0 && row < sites->n; row++)
                r = take_left(grows, row);
        for (size_t i = 0; i < grows->n_sites; i++)
                grows->sites[i].has_growth = grows->heaps[grows->sites[i].heap].n_dumps > 1;
        return r;
}

static int64_t growth_of(const GrowingSite *site) {
        return site->has_growth ? time_since(site->last, site->first) : 0;
}

static int compare_sites(const void *left, const void *right) {
        const GrowingSite *x = left, *y = right;
        const int64_t a = growth_of(x), b = growth_of(y);

        if (a != b)
                return a > b ? -1 : 1;
        if (x->left != y->left)
                return x->left > y->left ? -1 : 1;
        if (x->heap != y->heap)
                return x->heap < y->heap ? -1 : 1;
        return (x->callsite > y->callsite) - (x->callsite < y->callsite);
}

static void
put_stack(Answer *answer, AnswerValue *value, const AnswerQuestion *question, uint32_t callsite) {
        _cleanup_(freep) char *text =
                trace_stack_text(question->store, callsite, FRAMES_SHOWN, false);

        answer->has_no_memory |= !text;
        answer_set_text(answer, value, text);
}

static void put_program(Answer *answer, const Grows *grows, AnswerValue *value, const Heap *heap) {
        const TraceStore *store = grows->question->store;
        const TraceTable *processes = &store->tables[TRACE_TABLE_PROCESS];

        if (heap->upid < processes->n)
                answer_set_name(
                        answer, value, store, trace_table_get(processes, PROCESS_NAME, heap->upid));
}

static void put_site(Answer *answer, const Grows *grows, const GrowingSite *site) {
        const TraceStore *store = grows->question->store;
        const TraceTable *processes = &store->tables[TRACE_TABLE_PROCESS];
        const Heap *heap = &grows->heaps[site->heap];
        AnswerValue *cells;
        int64_t pid;

        if (growth_of(site) == 0 && site->left == 0)
                return;
        cells = answer_add_row(answer);
        if (!cells)
                return;
        put_program(answer, grows, &cells[GROWS_COLUMN_WHO], heap);
        put_stack(answer, &cells[GROWS_COLUMN_STACK], grows->question, site->callsite);
        if (site->has_growth) {
                answer_set(&cells[GROWS_COLUMN_GROWTH], growth_of(site));
                answer_set(&cells[GROWS_COLUMN_FIRST], site->first);
                answer_set(&cells[GROWS_COLUMN_LAST], site->last);
        }
        if (site->has_left)
                answer_set(&cells[GROWS_COLUMN_LEFT], site->left);
        answer_set_name(answer, &cells[GROWS_COLUMN_THREAD], store, site->thread);
        if (heap->upid < processes->n &&
            trace_table_number(processes, PROCESS_PID, heap->upid, &pid))
                answer_set(&cells[COLUMN_PID], pid);
        answer_set_name(answer, &cells[COLUMN_HEAP], store, heap->name);
        answer_set(&cells[COLUMN_CALLSITE], site->callsite);
}

static void put_heaps(Answer *answer, const Grows *grows) {
        int64_t n_several = 0, n_once = 0, n_ended = 0;

        for (size_t i = 0; i < grows->n_heaps; i++) {
                n_several += grows->heaps[i].n_dumps > 1;
                n_once += grows->heaps[i].n_dumps == 1;
                n_ended += grows->heaps[i].has_ended;
        }
        answer_set(&answer->facts[GROWS_FACT_SEVERAL], n_several);
        answer_set(&answer->facts[GROWS_FACT_ONCE], n_once);
        answer_set(&answer->facts[GROWS_FACT_ENDED], n_ended);
}

static void put_sums(Answer *answer, const Grows *grows) {
        const GrowingSite *most = NULL;
        int64_t first = 0, last = 0, left = 0;

        for (size_t i = 0; i < grows->n_sites; i++) {
                const GrowingSite *site = &grows->sites[i];

                first = time_add(first, site->has_growth ? site->first : 0);
                last = time_add(last, site->has_growth ? site->last : 0);
                left = time_add(left, site->left);
                if (site->left > (most ? most->left : 0))
                        most = site;
        }
        answer_set(&answer->facts[GROWS_FACT_FIRST], first);
        answer_set(&answer->facts[GROWS_FACT_LAST], last);
        answer_set(&answer->facts[GROWS_FACT_GROWTH], time_since(last, first));
        answer_set(&answer->facts[GROWS_FACT_LEFT], left);
        if (!most)
                return;
        answer_set(&answer->facts[GROWS_FACT_MOST_LEFT], most->left);
        put_program(
                answer, grows, &answer->facts[GROWS_FACT_MOST_LEFT_WHO], &grows->heaps[most->heap]);
        put_stack(answer, &answer->facts[GROWS_FACT_MOST_LEFT_AT], grows->question, most->callsite);
}

static GrowingThread *thread_of(Grows *grows, const GrowingSite *site) {
        const uint64_t key = (uint64_t)grows->heaps[site->heap].upid << 32 | site->thread,
                       place = trace_map_find(&grows->thread_places, key);

        if (place != TRACE_MAP_NONE)
                return &grows->threads[place];
        if (trace_reserve((void **)&grows->threads,
                          &grows->n_threads_allocated,
                          grows->n_threads + 1,
                          sizeof(*grows->threads)) ||
            trace_map_set(&grows->thread_places, key, grows->n_threads))
                return NULL;
        grows->threads[grows->n_threads] =
                (GrowingThread){ .heap = site->heap, .name = site->thread };
        return &grows->threads[grows->n_threads++];
}

static int put_thread(Answer *answer, Grows *grows) {
        const GrowingThread *most = NULL;

        for (size_t i = 0; i < grows->n_sites; i++) {
                const GrowingSite *site = &grows->sites[i];
                GrowingThread *thread = site->thread ? thread_of(grows, site) : NULL;

                if (site->thread && !thread)
                        return -ENOMEM;
                if (thread)
                        thread->growth = time_add(thread->growth, growth_of(site));
        }
        for (size_t i = 0; i < grows->n_threads; i++)
                if (grows->threads[i].growth > (most ? most->growth : 0))
                        most = &grows->threads[i];
        if (!most)
                return 0;
        answer_set(&answer->facts[GROWS_FACT_MOST_THREAD], most->growth);
        put_program(answer,
                    grows,
                    &answer->facts[GROWS_FACT_MOST_THREAD_WHO],
                    &grows->heaps[most->heap]);
        answer_set_name(answer,
                        &answer->facts[GROWS_FACT_MOST_THREAD_NAME],
                        grows->question->store,
                        most->name);
        return 0;
}

static int grows_find(Answer *answer, const AnswerQuestion *question) {
        _cleanup_(grows_deinit) Grows grows = { .question = question };
        int r = collect(&grows);

        if (r)
                return r;
        if (grows.n_heaps == 0)
                return ANSWER_E_NOTHING;
        if (grows.n_sites > 0)
                qsort(grows.sites, grows.n_sites, sizeof(*grows.sites), compare_sites);
        for (size_t i = 0; i < grows.n_sites; i++)
                put_site(answer, &grows, &grows.sites[i]);
        put_heaps(answer, &grows);
        put_sums(answer, &grows);
        return put_thread(answer, &grows);
}

const AnswerDef answer_grows = {
        .name = "grows",
        .record = "desktrace record --heap -- COMMAND",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_STACKS,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = grows_find,
};
