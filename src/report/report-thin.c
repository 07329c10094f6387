/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Thinning: rows too small to be seen are merged into one */

#include "report/report-thin.h"

/* The row that others may still be merged into. */
typedef struct Merge {
        ReportRow row;
        bool is_open;
        uint64_t lead_ns;
        int64_t grain_ns;
        ReportSink sink;
        void *userdata;
        size_t n;
} Merge;

static void merge_end(Merge *merge) {
        if (!merge->is_open)
                return;
        merge->n++;
        if (merge->sink)
                merge->sink(merge->userdata, &merge->row);
        merge->is_open = false;
}

/* Files may contain any times: sums saturate. */
static int64_t end_of(const ReportRow *row) {
        int64_t end;

        return __builtin_add_overflow(row->start_ns, MAX(row->duration_ns, (int64_t)0), &end)
                       ? INT64_MAX
                       : end;
}

static int64_t between(int64_t from, int64_t to) {
        int64_t distance;

        return __builtin_sub_overflow(to, from, &distance) ? INT64_MAX : distance;
}

static bool is_short(const ReportRow *row, int64_t grain_ns) {
        return row->duration_ns >= 0 && row->duration_ns < grain_ns;
}

static bool may_join(const Merge *merge, const ReportRow *row) {
        return merge->is_open && is_short(row, merge->grain_ns) &&
               (merge->row.n > 1 || is_short(&merge->row, merge->grain_ns)) &&
               between(end_of(&merge->row), row->start_ns) < merge->grain_ns &&
               between(merge->row.start_ns, end_of(row)) / REPORT_GRAINS_MERGED < merge->grain_ns;
}

void report_row_vote(ReportRow *row, uint64_t *lead, uint32_t what, uint64_t weight) {
        if (what == row->what) {
                *lead += weight;
        } else if (*lead >= weight) {
                *lead -= weight;
        } else {
                row->what = what;
                *lead = weight - *lead;
        }
}

static void merge_add(Merge *merge, const ReportRow *row) {
        if (!may_join(merge, row)) {
                merge_end(merge);
                merge->row = *row;
                merge->is_open = true;
                merge->lead_ns = (uint64_t)MAX(row->duration_ns, (int64_t)0) + 1;
                return;
        }
        report_row_vote(&merge->row, &merge->lead_ns, row->what, (uint64_t)row->duration_ns + 1);
        merge->row.duration_ns =
                between(merge->row.start_ns, MAX(end_of(&merge->row), end_of(row)));
        merge->row.n++;
}

size_t report_thin_part(const ReportLines *lines,
                        uint32_t first,
                        uint32_t end,
                        int64_t grain_ns,
                        ReportSink sink,
                        void *userdata) {
        Merge merge = { .grain_ns = grain_ns, .sink = sink, .userdata = userdata };

        for (uint32_t i = first; i < end; i++) {
                const ReportItem *item = &lines->items[i];
                const ReportRow row = { item->start_ns, item->duration_ns, item->what, 1 };

                merge_add(&merge, &row);
        }
        merge_end(&merge);
        return merge.n;
}

size_t report_thin(const ReportLines *lines,
                   uint32_t line,
                   int64_t grain_ns,
                   ReportSink sink,
                   void *userdata) {
        return report_thin_part(
                lines, lines->offsets[line], lines->offsets[line + 1], grain_ns, sink, userdata);
}

/*
 * Values
 */

enum { VALUE_FIRST, VALUE_LOW, VALUE_HIGH, VALUE_LAST, _VALUE_N };

typedef struct Bucket {
        const ReportItem *kept[_VALUE_N];
        bool is_open;
        ReportValueSink sink;
        void *userdata;
        size_t n;
} Bucket;

/* In order of time, each once. */
static void bucket_end(Bucket *bucket) {
        const ReportItem *last = NULL;

        if (!bucket->is_open)
                return;
        if (bucket->kept[VALUE_LOW] > bucket->kept[VALUE_HIGH]) {
                const ReportItem *item = bucket->kept[VALUE_LOW];

                bucket->kept[VALUE_LOW] = bucket->kept[VALUE_HIGH];
                bucket->kept[VALUE_HIGH] = item;
        }
        for (size_t i = 0; i < _VALUE_N; i++) {
                const ReportItem *item = bucket->kept[i];

                if (item == last)
                        continue;
                last = item;
                bucket->n++;
                if (bucket->sink)
                        bucket->sink(bucket->userdata, item->start_ns, item->value);
        }
        bucket->is_open = false;
}

static void bucket_add(Bucket *bucket, const ReportItem *item) {
        if (!bucket->is_open) {
                bucket->is_open = true;
                for (size_t i = 0; i < _VALUE_N; i++)
                        bucket->kept[i] = item;
        }
        if (item->value < bucket->kept[VALUE_LOW]->value)
                bucket->kept[VALUE_LOW] = item;
        if (item->value > bucket->kept[VALUE_HIGH]->value)
                bucket->kept[VALUE_HIGH] = item;
        bucket->kept[VALUE_LAST] = item;
}

size_t report_thin_values_part(const ReportLines *lines,
                               uint32_t first,
                               uint32_t end,
                               int64_t grain_ns,
                               ReportValueSink sink,
                               void *userdata) {
        Bucket bucket = { .sink = sink, .userdata = userdata };

        for (uint32_t i = first; i < end; i++) {
                const ReportItem *item = &lines->items[i];

                if (bucket.is_open && between(bucket.kept[VALUE_FIRST]->start_ns, item->start_ns) /
                                                      REPORT_GRAINS_MERGED >=
                                              grain_ns)
                        bucket_end(&bucket);
                bucket_add(&bucket, item);
        }
        bucket_end(&bucket);
        return bucket.n;
}

size_t report_thin_values(const ReportLines *lines,
                          uint32_t line,
                          int64_t grain_ns,
                          ReportValueSink sink,
                          void *userdata) {
        return report_thin_values_part(
                lines, lines->offsets[line], lines->offsets[line + 1], grain_ns, sink, userdata);
}
