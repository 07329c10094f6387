/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Conditions of a comparison: under which the recordings of each side were made */

#include "answers/comparison-conditions.h"

#include <errno.h>
#include <math.h>

#include "answers/answer-cores.h"
#include "answers/answer-time.h"
#include "answers/statistics.h"

void comparison_conditions_deinit(ComparisonConditions *conditions) {
        for (size_t side = 0; side < 2; side++)
                for (size_t i = 0; i < N_CONDITION_NUMBERS; i++)
                        free(conditions->sides[side].values[i]);
}

/*
 * Of one recording
 */

static uint32_t find_metadata(const TraceStore *store, const char *name) {
        const TraceTable *table = &store->tables[TRACE_TABLE_METADATA];

        for (uint32_t row = 0; row < table->n; row++) {
                const char *key =
                        trace_pool_text(&store->pool, trace_table_get(table, METADATA_NAME, row));

                if (key && streq(key, name))
                        return row;
        }
        return TRACE_NONE;
}

static const char *metadata_text(const TraceStore *store, const char *name) {
        uint32_t row = find_metadata(store, name);

        return row == TRACE_NONE
                       ? NULL
                       : trace_pool_text(&store->pool,
                                         trace_table_get(&store->tables[TRACE_TABLE_METADATA],
                                                         METADATA_TEXT,
                                                         row));
}

/* Two configs with the same data sources may still differ in other settings. */
static uint32_t add_sources(TracePool *names, const TraceStore *store, const char *sources) {
        uint32_t row = find_metadata(store, "trace_config_sources_sum");
        int64_t sum = 0;

        if (row != TRACE_NONE)
                sum = trace_table_i64(&store->tables[TRACE_TABLE_METADATA], METADATA_INT, row);
        return trace_pool_add_format(names, "%s (%08x)", sources, (unsigned)sum);
}

static uint32_t
take_text(TracePool *names, const TraceStore *store, ConditionText text, size_t n_cpus) {
        static const char *const keys[N_CONDITION_TEXTS] = {
                [CONDITION_KERNEL] = "system_release",
                [CONDITION_SYSTEM] = "system_os_id",
                [CONDITION_PROCESSOR] = "system_cpu_model",
                [CONDITION_SOURCES] = "trace_config_sources",
        };
        const char *value, *version;

        if (text == CONDITION_CPUS)
                return n_cpus ? trace_pool_add_format(names, "%zu", n_cpus) : 0;
        value = metadata_text(store, keys[text]);
        if (!value)
                return 0;
        if (text == CONDITION_SOURCES)
                return add_sources(names, store, value);
        version = text == CONDITION_SYSTEM ? metadata_text(store, "system_os_version") : NULL;
        return version ? trace_pool_add_format(names, "%s %s", value, version)
                       : trace_pool_add_text(names, value);
}

static bool is_lossy(const TraceStore *store) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STAT];

        for (uint32_t row = 0; row < table->n; row++) {
                const char *severity =
                        trace_pool_text(&store->pool, trace_table_get(table, STAT_SEVERITY, row));

                if (severity && !streq(severity, "info") &&
                    trace_table_i64(table, STAT_VALUE, row) > 0)
                        return true;
        }
        return false;
}

/* Adds up frequency times time, from each value of a track to the next. */
typedef struct Clocked {
        double khz;
        int64_t since;
} Clocked;

static void clocked_add(const Clocked *clocked,
                        int64_t until,
                        int64_t start,
                        int64_t end,
                        double *sum,
                        double *weight) {
        double ns = clocked->khz > 0 ? (double)time_overlap(clocked->since, until, start, end) : 0;

        *sum += clocked->khz * ns;
        *weight += ns;
}

/* The last value of each frequency track. */
static int
average_hz(const TraceStore *store, uint32_t frequency, int64_t start, int64_t end, double *ret) {
        const TraceTable *tracks = &store->tables[TRACE_TABLE_TRACK],
                         *counters = &store->tables[TRACE_TABLE_COUNTER];
        _cleanup_(freep) Clocked *clocked = calloc(tracks->n + 1, sizeof(*clocked));
        double sum = 0, weight = 0;

        if (!clocked)
                return -ENOMEM;
        for (uint32_t row = 0; row < counters->n; row++) {
                uint32_t track = trace_table_get(counters, COUNTER_TRACK, row);
                int64_t ts = trace_table_i64(counters, COUNTER_TS, row);

                if (track >= tracks->n || trace_table_get(tracks, TRACK_NAME, track) != frequency)
                        continue;
                clocked_add(&clocked[track], ts, start, end, &sum, &weight);
                clocked[track] = (Clocked){ trace_table_double(counters, COUNTER_VALUE, row), ts };
        }
        for (uint32_t track = 0; track < tracks->n; track++)
                clocked_add(&clocked[track], end, start, end, &sum, &weight);
        *ret = weight > 0 ? sum / weight * 1000 : NAN;
        return 0;
}

/* Only looks the name up, as somebody else is reading the store. */
static uint32_t find_frequency(const TraceStore *store) {
        const TraceTable *tracks = &store->tables[TRACE_TABLE_TRACK];

        for (uint32_t row = 0; row < tracks->n; row++) {
                uint32_t name = trace_table_get(tracks, TRACK_NAME, row);
                const char *text = trace_pool_text(&store->pool, name);

                if (text && streq(text, "cpufreq") &&
                    trace_table_get(tracks, TRACK_CPU, row) != TRACE_NONE)
                        return name;
        }
        return 0;
}

static int add_number(ComparisonSide *side, ConditionNumber number, double value) {
        if (isnan(value))
                return 0;
        if (trace_reserve((void **)&side->values[number],
                          &side->n_allocated[number],
                          side->n_values[number] + 1,
                          sizeof(value)))
                return -ENOMEM;
        side->values[number][side->n_values[number]++] = value;
        return 0;
}

int comparison_conditions_add(ComparisonConditions *conditions,
                              unsigned which,
                              const TraceStore *store,
                              TracePool *names,
                              int64_t start,
                              int64_t end,
                              double busy_ns) {
        ComparisonSide *side = &conditions->sides[which];
        double seconds = end > start ? (double)time_since(end, start) / 1e9 : 1e-9, hz = NAN;
        uint32_t frequency = find_frequency(store);
        AnswerCores cores;
        int r = answer_cores_init(&cores, store);

        for (size_t i = 0; r == 0 && i < N_CONDITION_TEXTS; i++) {
                uint32_t text = take_text(names, store, i, cores.n_present);

                if (side->n == 0) {
                        side->texts[i] = text;
                } else if (text != side->texts[i]) {
                        side->others[i] = text;
                        side->is_mixed[i] = true;
                }
        }
        side->n++;
        side->n_lossy += is_lossy(store);
        if (r == 0 && frequency)
                r = average_hz(store, frequency, start, end, &hz);
        if (r == 0)
                r = add_number(side, CONDITION_SECONDS, seconds);
        if (r == 0)
                r = add_number(side,
                               CONDITION_BUSY,
                               cores.n_present ? busy_ns / (seconds * 1e9 * (double)cores.n_present)
                                               : 0);
        if (r == 0)
                r = add_number(side, CONDITION_HZ, hz);
        answer_cores_deinit(&cores);
        return r;
}

/*
 * Of both sides
 */

const char *comparison_conditions_text(const ComparisonConditions *conditions,
                                       unsigned side,
                                       ConditionText text,
                                       TracePool *names) {
        const ComparisonSide *of = &conditions->sides[side];
        const char *first = trace_pool_text(names, of->texts[text]),
                   *other = trace_pool_text(names, of->others[text]);

        if (!of->is_mixed[text])
                return first;
        return trace_pool_text(names,
                               trace_pool_add_format(names, "%s | %s", first ?: "?", other ?: "?"));
}

bool comparison_conditions_is_same(const ComparisonConditions *conditions, ConditionText text) {
        const ComparisonSide *a = &conditions->sides[0], *b = &conditions->sides[1];

        return a->texts[text] == b->texts[text] && !a->is_mixed[text] && !b->is_mixed[text];
}

double comparison_conditions_median(const ComparisonConditions *conditions,
                                    unsigned side,
                                    ConditionNumber number) {
        const ComparisonSide *of = &conditions->sides[side];

        return of->n_values[number] ? statistics_median(of->values[number], of->n_values[number])
                                    : NAN;
}
