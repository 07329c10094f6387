/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * What happens every n seconds
 *
 * The answer looks at the times when slices of one name begin on one track, and when a thread begins to run after it
 * was off the CPUs for a while. Something repeats if most of the gaps between these times are within a tenth of the
 * median gap.
 */

#include <errno.h>

#include "answers/answer-questions.h"
#include "answers/answer-slices.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"
#include "shared/quantile.h"
#include "trace/trace-map.h"

#define REPEATS_N_MIN      5                 /* occurrences */
#define REPEATS_PERIOD_MIN INT64_C(50000000) /* ns; more frequent events are no stutter */
#define REPEATS_APART_MIN  INT64_C(20000000) /* ns; a shorter pause does not count */
#define REPEATS_SHARE_MIN  0.6               /* share of the gaps that must be like the median */
#define REPEATS_TOLERANCE  0.1

static const AnswerColumn facts[] = {
        [REPEATS_FACT_N] = { "n", NULL, ANSWER_COUNT },
};

enum { COLUMN_WHO = REPEATS_COLUMN_PERIOD + 1, COLUMN_N, COLUMN_SHARE, COLUMN_EACH, COLUMN_MAX };

static const AnswerColumn columns[] = {
        [REPEATS_COLUMN_WHAT] = { "what", N_("WHAT"), ANSWER_WORD },
        [REPEATS_COLUMN_NAME] = { "name", N_("NAME"), ANSWER_TEXT },
        [REPEATS_COLUMN_PERIOD] = { "period_ns", N_("EVERY"), ANSWER_NS },
        [COLUMN_WHO] = { "program", N_("PROGRAM"), ANSWER_TEXT },
        [COLUMN_N] = { "n", N_("TIMES"), ANSWER_COUNT },
        [COLUMN_SHARE] = { "regular", N_("REGULAR"), ANSWER_SHARE },
        [COLUMN_EACH] = { "each_ns", N_("EACH"), ANSWER_NS },
        [COLUMN_MAX] = { "longest_ns", N_("LONGEST"), ANSWER_NS },
};

static const char word_slice[] = N_("slice");
static const char word_thread[] = N_("thread runs");

/* One time when something began. */
typedef struct Beat {
        uint64_t key; /* a track and a name, or a thread */
        int64_t at, ns;
} Beat;

typedef struct Beats {
        Beat *beats;
        size_t n, n_allocated;
} Beats;

/* Something that repeats. */
typedef struct Rhythm {
        uint64_t key;
        bool is_thread;
        int64_t period, each, longest, total;
        double share;
        size_t n;
} Rhythm;

typedef struct Rhythms {
        Rhythm *rhythms;
        size_t n, n_allocated;
} Rhythms;

static void beats_deinit(Beats *beats) {
        free(beats->beats);
}

static void rhythms_deinit(Rhythms *rhythms) {
        free(rhythms->rhythms);
}

static int beats_add(Beats *beats, uint64_t key, int64_t at, int64_t ns) {
        if (trace_reserve((void **)&beats->beats,
                          &beats->n_allocated,
                          beats->n + 1,
                          sizeof(*beats->beats)))
                return -ENOMEM;
        beats->beats[beats->n++] = (Beat){ .key = key, .at = at, .ns = ns };
        return 0;
}

static int collect_slices(Beats *beats, const AnswerQuestion *question) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_SLICE];
        int r = 0;

        for (uint32_t row = answer_time_find(table, question->start); r == 0 && row < table->n;
             row++) {
                uint64_t track = trace_table_get(table, SLICE_TRACK, row);
                int64_t ts = answer_slice_ts(question->store, row);

                if (ts > question->end)
                        break;
                r = beats_add(beats,
                              track << 32 | trace_table_get(table, SLICE_NAME, row),
                              ts,
                              MAX(answer_slice_dur(question->store, row), INT64_C(0)));
        }
        return r;
}

/* Runs with no gap between them are one. */
static int
take_run(Beats *beats, TraceMap *newest, uint32_t utid, int64_t ts, int64_t dur, int64_t *ends) {
        uint64_t place = trace_map_find(newest, utid);
        int r;

        if (place != TRACE_MAP_NONE && time_since(ts, ends[utid]) < REPEATS_APART_MIN) {
                beats->beats[place].ns = time_add(beats->beats[place].ns, dur);
                ends[utid] = time_add(ts, dur);
                return 0;
        }
        r = beats_add(beats, utid, ts, dur);
        if (r == 0)
                r = trace_map_set(newest, utid, beats->n - 1);
        ends[utid] = time_add(ts, dur);
        return r;
}

static int collect_runs(Beats *beats, const AnswerQuestion *question) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_SCHED];
        size_t n_threads = question->store->tables[TRACE_TABLE_THREAD].n;
        _cleanup_(freep) int64_t *ends = calloc(n_threads + 1, sizeof(*ends));
        _cleanup_(trace_map_deinit) TraceMap newest = { 0 };
        int r = ends ? 0 : -ENOMEM;

        for (uint32_t row = answer_time_find(table, question->start); r == 0 && row < table->n;
             row++) {
                uint32_t utid = trace_table_get(table, SCHED_UTID, row);
                int64_t ts = trace_table_i64(table, SCHED_TS, row);

                if (ts > question->end)
                        break;
                if (utid == 0 || utid >= n_threads)
                        continue;
                r = take_run(beats,
                             &newest,
                             utid,
                             ts,
                             MAX(trace_table_i64(table, SCHED_DUR, row), INT64_C(0)),
                             ends);
        }
        return r;
}

static int compare_beats(const void *x, const void *y) {
        const Beat *a = x, *b = y;

        if (a->key != b->key)
                return a->key < b->key ? -1 : 1;
        return a->at < b->at ? -1 : a->at > b->at;
}

static double share_near(const double *gaps, size_t n, double middle) {
        size_t n_near = 0;

        for (size_t i = 0; i < n; i++)
                n_near += gaps[i] >= middle * (1 - REPEATS_TOLERANCE) &&
                          gaps[i] <= middle * (1 + REPEATS_TOLERANCE);
        return (double)n_near / (double)n;
}

static int take_rhythm(Rhythms *rhythms, const Beat *beats, size_t n, double *gaps) {
        Rhythm rhythm = { .key = beats[0].key, .n = n };
        double middle;

        if (n < REPEATS_N_MIN)
                return 0;
        for (size_t i = 0; i < n; i++) {
                rhythm.total = time_add(rhythm.total, beats[i].ns);
                rhythm.longest = MAX(rhythm.longest, beats[i].ns);
                if (i > 0)
                        gaps[i - 1] = (double)time_since(beats[i].at, beats[i - 1].at);
        }
        middle = quantile(gaps, n - 1, 0.5);
        rhythm.period = time_of_real(middle);
        rhythm.share = share_near(gaps, n - 1, middle);
        rhythm.each = rhythm.total / (int64_t)n;
        if (rhythm.period < REPEATS_PERIOD_MIN || rhythm.share < REPEATS_SHARE_MIN)
                return 0;
        if (trace_reserve((void **)&rhythms->rhythms,
                          &rhythms->n_allocated,
                          rhythms->n + 1,
                          sizeof(rhythm)))
                return -ENOMEM;
        rhythms->rhythms[rhythms->n++] = rhythm;
        return 0;
}

static int find_rhythms(Rhythms *rhythms, Beats *beats, bool are_threads) {
        _cleanup_(freep) double *gaps = reallocarray(NULL, beats->n + 1, sizeof(*gaps));
        size_t n_before = rhythms->n;
        int r = gaps ? 0 : -ENOMEM;

        if (beats->n)
                qsort(beats->beats, beats->n, sizeof(*beats->beats), compare_beats);
        for (size_t i = 0, end; r == 0 && i < beats->n; i = end) {
                for (end = i; end < beats->n && beats->beats[end].key == beats->beats[i].key;)
                        end++;
                r = take_rhythm(rhythms, &beats->beats[i], end - i, gaps);
        }
        for (size_t i = n_before; i < rhythms->n; i++)
                rhythms->rhythms[i].is_thread = are_threads;
        return r;
}

/* The longest come first: users are most likely to notice those. */
static int compare_rhythms(const void *x, const void *y) {
        const Rhythm *a = x, *b = y;

        if (a->each != b->each)
                return a->each > b->each ? -1 : 1;
        if (a->is_thread != b->is_thread)
                return a->is_thread ? 1 : -1;
        return a->key < b->key ? -1 : a->key > b->key;
}

static uint32_t rhythm_thread(const TraceStore *store, const Rhythm *rhythm) {
        const TraceTable *tracks = &store->tables[TRACE_TABLE_TRACK];
        uint32_t track = (uint32_t)(rhythm->key >> 32);

        if (rhythm->is_thread)
                return (uint32_t)rhythm->key;
        return track < tracks->n ? trace_table_get(tracks, TRACK_UTID, track) : TRACE_NONE;
}

static void put_rhythm(Answer *answer, const TraceStore *store, const Rhythm *rhythm) {
        uint32_t utid = rhythm_thread(store, rhythm);
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        answer_set_word(&cells[REPEATS_COLUMN_WHAT], rhythm->is_thread ? word_thread : word_slice);
        if (rhythm->is_thread)
                answer_set_thread(answer, &cells[REPEATS_COLUMN_NAME], store, utid);
        else
                answer_set_name(answer, &cells[REPEATS_COLUMN_NAME], store, (uint32_t)rhythm->key);
        answer_set(&cells[REPEATS_COLUMN_PERIOD], rhythm->period);
        answer_set_name(answer, &cells[COLUMN_WHO], store, answer_who_program(store, utid));
        answer_set(&cells[COLUMN_N], (int64_t)rhythm->n);
        answer_set_real(&cells[COLUMN_SHARE], rhythm->share);
        answer_set(&cells[COLUMN_EACH], rhythm->each);
        answer_set(&cells[COLUMN_MAX], rhythm->longest);
}

static int repeats_find(Answer *answer, const AnswerQuestion *question) {
        _cleanup_(beats_deinit) Beats slices = { 0 }, runs = { 0 };
        _cleanup_(rhythms_deinit) Rhythms rhythms = { 0 };
        int r = collect_slices(&slices, question);

        if (r == 0)
                r = find_rhythms(&rhythms, &slices, false);
        if (r == 0)
                r = collect_runs(&runs, question);
        if (r == 0)
                r = find_rhythms(&rhythms, &runs, true);
        if (r)
                return r;
        if (slices.n + runs.n == 0)
                return ANSWER_E_NOTHING;
        if (rhythms.n)
                qsort(rhythms.rhythms, rhythms.n, sizeof(*rhythms.rhythms), compare_rhythms);
        for (size_t i = 0; i < rhythms.n; i++)
                put_rhythm(answer, question->store, &rhythms.rhythms[i]);
        answer_set(&answer->facts[REPEATS_FACT_N], (int64_t)rhythms.n);
        return 0;
}

const AnswerDef answer_repeats = {
        .name = "repeats",
        .record = "desktrace record -p default",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_SCHED,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = repeats_find,
};
