/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Content: what a page shows of a recording */

#include "report/report-content.h"

#include <errno.h>

/* The finest grain to try, as a fraction of the recording. */
#define FINEST_PART (INT64_C(1) << 24)

/* Of weighted samples, those weighted with the time that the thread was off the CPU are drawn,
 * and those that count faults. */
static const char *const weighed_sources[_REPORT_KIND_N] = {
        [REPORT_SLEEPS] = "linux.offcpu",
        [REPORT_FAULTS] = "linux.faults",
};

static const struct {
        TraceTableId table;
        ReportColumns columns;
} sources[_REPORT_KIND_N] = {
        [REPORT_CPUS] = { TRACE_TABLE_SCHED,
                          { SCHED_CPU, -1, SCHED_TS, SCHED_DUR, SCHED_UTID, -1 } },
        [REPORT_STATES] = { TRACE_TABLE_STATE,
                            { STATE_UTID, -1, STATE_TS, STATE_DUR, STATE_STATE, -1 } },
        [REPORT_SLICES] = { TRACE_TABLE_SLICE,
                            { SLICE_TRACK, SLICE_DEPTH, SLICE_TS, SLICE_DUR, SLICE_NAME, -1 } },
        [REPORT_VALUES] = { TRACE_TABLE_COUNTER,
                            { COUNTER_TRACK, -1, COUNTER_TS, -1, -1, COUNTER_VALUE } },
        [REPORT_LOGS] = { TRACE_TABLE_LOG, { LOG_PRIO, -1, LOG_TS, -1, LOG_MSG, -1 } },
        [REPORT_SAMPLES] = { TRACE_TABLE_SAMPLE,
                             { PERF_UTID, -1, PERF_TS, -1, PERF_CALLSITE, -1 } },
        [REPORT_SLEEPS] = { TRACE_TABLE_STACK_SAMPLE,
                            { WEIGHED_UTID,
                              -1,
                              WEIGHED_TS,
                              WEIGHED_WEIGHT,
                              WEIGHED_CALLSITE,
                              -1 } },
        [REPORT_FAULTS] = { TRACE_TABLE_STACK_SAMPLE,
                            { WEIGHED_UTID,
                              -1,
                              WEIGHED_TS,
                              WEIGHED_WEIGHT,
                              WEIGHED_CALLSITE,
                              -1 } },
};

static size_t count_keys(const TraceStore *store, ReportKind kind) {
        const TraceTable *sched = &store->tables[TRACE_TABLE_SCHED];
        size_t n = 0;

        switch (kind) {
        case REPORT_CPUS:
                for (uint32_t row = 0; row < sched->n; row++) {
                        uint32_t cpu = trace_table_get(sched, SCHED_CPU, row);

                        n = MAX(n, cpu == TRACE_NONE ? 0 : (size_t)cpu + 1);
                }
                return n;
        case REPORT_STATES:
        case REPORT_SAMPLES:
        case REPORT_SLEEPS:
        case REPORT_FAULTS:
                return store->tables[TRACE_TABLE_THREAD].n;
        case REPORT_LOGS:
                return UINT8_MAX; /* priorities */
        default:
                return store->tables[TRACE_TABLE_TRACK].n;
        }
}

static ReportColumns columns_of(const TraceStore *store, ReportKind kind) {
        const char *source = weighed_sources[kind];
        ReportColumns columns = sources[kind].columns;

        if (source) {
                columns.only = WEIGHED_SOURCE;
                columns.text = trace_pool_find(&store->pool, source, strlen(source));
        }
        return columns;
}

int report_content_init(ReportContent *content, const TraceStore *store) {
        int r;

        *content = (ReportContent){ .store = store, .sample_stride = 1 };
        if (!trace_store_bounds(store, &content->start_ns, &content->end_ns))
                content->start_ns = content->end_ns = 0;
        r = report_groups_init(&content->groups, store);
        for (ReportKind kind = 0; r == 0 && kind < _REPORT_KIND_N; kind++) {
                ReportColumns columns = columns_of(store, kind);

                r = report_lines_init(&content->lines[kind],
                                      &store->tables[sources[kind].table],
                                      &columns,
                                      count_keys(store, kind));
        }
        return r;
}

void report_content_deinit(ReportContent *content) {
        report_groups_deinit(&content->groups);
        for (ReportKind kind = 0; kind < _REPORT_KIND_N; kind++)
                report_lines_deinit(&content->lines[kind]);
}

/* Adds up what the items count, as far as a row can hold it. */
static uint32_t sum_of(const ReportItem *items, size_t n, bool are_weighed) {
        uint64_t sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += are_weighed ? (uint64_t)MIN(MAX(items[i].weight, 1), UINT32_MAX) : 1;
        return (uint32_t)MIN(sum, UINT32_MAX);
}

/* A vote would leave out rare stacks, so the first sample of each stride stands for all. */
static size_t every_so_many(const ReportContent *content,
                            ReportKind kind,
                            uint32_t line,
                            ReportSink sink,
                            void *userdata) {
        const ReportLines *lines = &content->lines[kind];
        size_t n_rows = 0, n;

        for (size_t i = lines->offsets[line]; i < lines->offsets[line + 1]; i += n) {
                const ReportItem *items = &lines->items[i];
                ReportRow row = { .start_ns = items->start_ns, .what = items->what };

                n = MIN(content->sample_stride, lines->offsets[line + 1] - i);
                row.n = sum_of(items, n, kind == REPORT_FAULTS);
                n_rows++;
                if (sink)
                        sink(userdata, &row);
        }
        return n_rows;
}

size_t report_content_rows(const ReportContent *content,
                           ReportKind kind,
                           uint32_t line,
                           ReportSink sink,
                           void *userdata) {
        if (kind == REPORT_SAMPLES || kind == REPORT_FAULTS)
                return every_so_many(content, kind, line, sink, userdata);
        return report_thin(&content->lines[kind], line, content->grain_ns, sink, userdata);
}

static size_t count_line(const ReportContent *content, ReportKind kind, uint32_t line) {
        if (kind != REPORT_VALUES)
                return report_content_rows(content, kind, line, NULL, NULL);
        return report_thin_values(&content->lines[kind], line, content->grain_ns, NULL, NULL);
}

static bool has_more_rows(const ReportContent *content, size_t n_max) {
        size_t n = 0;

        for (ReportKind kind = 0; kind < _REPORT_KIND_N; kind++)
                for (uint32_t line = 0; line < content->lines[kind].n_lines && n <= n_max; line++)
                        n += count_line(content, kind, line);
        return n > n_max;
}

static size_t count_samples(const ReportContent *content) {
        const ReportLines *samples = &content->lines[REPORT_SAMPLES];
        const ReportLines *faults = &content->lines[REPORT_FAULTS];

        return (size_t)samples->offsets[samples->n_lines] + faults->offsets[faults->n_lines];
}

void report_content_thin(ReportContent *content, size_t n_max) {
        size_t n_samples_max = n_max / REPORT_SAMPLES_SHARE + 1;
        int64_t length;

        content->sample_stride = count_samples(content) / n_samples_max + 1;
        if (__builtin_sub_overflow(content->end_ns, content->start_ns, &length))
                length = INT64_MAX;
        content->grain_ns = 0;
        while (has_more_rows(content, n_max) && content->grain_ns < length)
                content->grain_ns = content->grain_ns == 0 ? MAX(length / FINEST_PART, INT64_C(1))
                                                           : content->grain_ns * 2;
}

bool report_content_wall_time(const ReportContent *content, int64_t at_ns, int64_t *ret_ns) {
        const TraceTable *clocks = &content->store->tables[TRACE_TABLE_CLOCK];

        for (uint32_t row = 0; row < clocks->n; row++) {
                const char *name = trace_pool_text(&content->store->pool,
                                                   trace_table_get(clocks, CLOCK_NAME, row));
                int64_t offset;

                if (name && streq(name, "REALTIME") &&
                    !__builtin_sub_overflow(trace_table_i64(clocks, CLOCK_VALUE, row),
                                            trace_table_i64(clocks, CLOCK_TS, row),
                                            &offset) &&
                    !__builtin_add_overflow(at_ns, offset, ret_ns))
                        return true;
        }
        return false;
}
