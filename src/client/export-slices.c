/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export slices: the slices of the range in groups, and their arguments */

#include "client/export-slices.h"

#include <inttypes.h>
#include <string.h>

static const TraceTable *slices_of(const TraceStore *store) {
        return &store->tables[TRACE_TABLE_SLICE];
}

int64_t export_slice_end(const TraceStore *store, uint32_t row) {
        int64_t ts = trace_table_i64(slices_of(store), SLICE_TS, row),
                dur = trace_table_i64(slices_of(store), SLICE_DUR, row), end;

        if (dur <= 0)
                return ts;
        return __builtin_add_overflow(ts, dur, &end) ? INT64_MAX : end;
}

static bool is_in_range(const Export *export, const TraceStore *store, uint32_t row) {
        return !export->has_range ||
               (trace_table_i64(slices_of(store), SLICE_TS, row) <= export->end &&
                export_slice_end(store, row) >= export->start);
}

static int compare_slices(const void *left, const void *right) {
        const ExportSlice *x = left, *y = right;

        if (x->key != y->key)
                return x->key < y->key ? -1 : 1;
        return (x->row > y->row) - (x->row < y->row);
}

GArray *export_slices(Export *export,
                      bool (*key)(const TraceStore *store, uint32_t row, uint64_t *ret)) {
        const TraceStore *store = query_store(export->query);
        GArray *slices = g_array_new(FALSE, FALSE, sizeof(ExportSlice));

        for (uint32_t row = 0; row < slices_of(store)->n; row++) {
                ExportSlice slice = { .row = row };

                if (!is_in_range(export, store, row))
                        continue;
                if (key(store, row, &slice.key))
                        g_array_append_val(slices, slice);
                else
                        export->n_left_out++;
        }
        g_array_sort(slices, compare_slices);
        return slices;
}

/* Numbers of more than 63 bits are written as texts, as JSON has no room for them. */
static ExportArg
read_arg(const TraceStore *store, const TraceTable *table, uint32_t row, const char *type) {
        ExportArg arg = { .key = export_name(store, TRACE_TABLE_ARG, ARG_KEY, row) };
        const char *text = trace_pool_text(&store->pool, trace_table_get(table, ARG_STRING, row));
        int64_t value = trace_table_i64(table, ARG_INT, row);

        if (text || streq(type, "string") || streq(type, "json"))
                arg.text = text ? text : "";
        else if (streq(type, "real")) {
                arg.type = EXPORT_ARG_REAL;
                arg.real = trace_table_double(table, ARG_REAL, row);
        } else if (streq(type, "pointer"))
                snprintf(arg.number, sizeof(arg.number), "0x%" PRIx64, (uint64_t)value);
        else if (streq(type, "uint") && value < 0)
                snprintf(arg.number, sizeof(arg.number), "%" PRIu64, (uint64_t)value);
        else {
                arg.type = streq(type, "bool") ? EXPORT_ARG_BOOL : EXPORT_ARG_INT;
                arg.value = value;
        }
        return arg;
}

size_t export_args(const TraceStore *store,
                   uint32_t set,
                   size_t n_max,
                   void (*take)(const ExportArg *arg, void *user_data),
                   void *user_data) {
        const TraceTable *table = &store->tables[TRACE_TABLE_ARG];
        size_t n = 0;

        for (uint32_t row = set; row < table->n && trace_table_get(table, ARG_SET, row) == set;
             row++) {
                ExportArg arg;

                if (n++ >= n_max)
                        continue;
                arg = read_arg(
                        store, table, row, export_name(store, TRACE_TABLE_ARG, ARG_TYPE, row));
                if (arg.type == EXPORT_ARG_TEXT && !arg.text)
                        arg.text = arg.number;
                take(&arg, user_data);
        }
        return n > n_max ? n - n_max : 0;
}

static uint32_t track_column(const TraceStore *store, uint32_t row, unsigned column) {
        uint32_t track = trace_table_get(slices_of(store), SLICE_TRACK, row);

        return track == TRACE_NONE
                       ? TRACE_NONE
                       : trace_table_get(&store->tables[TRACE_TABLE_TRACK], column, track);
}

uint32_t export_slice_utid(const TraceStore *store, uint32_t row) {
        return track_column(store, row, TRACK_UTID);
}

uint32_t export_slice_upid(const TraceStore *store, uint32_t row) {
        uint32_t utid = export_slice_utid(store, row);

        return utid == TRACE_NONE
                       ? track_column(store, row, TRACK_UPID)
                       : trace_table_get(&store->tables[TRACE_TABLE_THREAD], THREAD_UPID, utid);
}

char *export_basename(const char *name) {
        return name[0] == '/' ? g_path_get_basename(name) : g_strdup(name);
}

/* TRACE_NONE: the trace has no such entry. */
static uint32_t metadata_row(const TraceStore *store, const char *name) {
        const TraceTable *table = &store->tables[TRACE_TABLE_METADATA];
        uint32_t number = trace_pool_find(&store->pool, name, strlen(name));

        for (uint32_t row = 0; number && row < table->n; row++)
                if (trace_table_get(table, METADATA_NAME, row) == number)
                        return row;
        return TRACE_NONE;
}

const char *export_metadata(const TraceStore *store, const char *name) {
        uint32_t row = metadata_row(store, name);

        return row == TRACE_NONE
                       ? NULL
                       : trace_pool_text(&store->pool,
                                         trace_table_get(&store->tables[TRACE_TABLE_METADATA],
                                                         METADATA_TEXT,
                                                         row));
}

bool export_realtime_offset(const TraceStore *store, int64_t *ret) {
        uint32_t row = metadata_row(store, "trace_realtime_offset_ns");

        return row != TRACE_NONE &&
               trace_table_number(&store->tables[TRACE_TABLE_METADATA], METADATA_INT, row, ret);
}
