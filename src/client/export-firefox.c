/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export Firefox: samples and slices as Firefox's profiler shows them */

#include "client/export-firefox.h"

#include <errno.h>
#include <string.h>

#include "client/export-frames.h"
#include "client/export-rows.h"
#include "client/export-samples.h"
#include "client/export-slices.h"
#include "client/json-writer.h"

#define FORMAT_VERSION   61 /* of processed profiles */
#define FIREFOX_ARGS_MAX 128

/* Numbers of the format. */
enum { PHASE_INSTANT = 0, PHASE_INTERVAL = 1, PHASE_INTERVAL_START = 2 };
enum { RESOURCE_LIBRARY = 1 };
enum { NOTHING = -1 };

typedef struct Sample {
        uint32_t utid, callsite;
        int64_t ts, weight;
} Sample;

typedef struct Firefox {
        Export *export;
        const TraceStore *store;
        ExportFrames frames;
        GArray *samples; /* of Sample, by thread and time */
        GArray *slices;  /* ExportSlice, by thread */
        GHashTable *text_numbers, *category_numbers;
        GPtrArray *texts, *categories; /* category 0 is for samples without one */
        guint next_sample, next_slice;
        bool has_threads;
} Firefox;

static guint intern(GHashTable *numbers, GPtrArray *texts, const char *text) {
        gpointer number;

        if (g_hash_table_lookup_extended(numbers, text, NULL, &number))
                return GPOINTER_TO_UINT(number);
        g_ptr_array_add(texts, g_strdup(text));
        g_hash_table_insert(numbers,
                            g_ptr_array_index(texts, texts->len - 1),
                            GUINT_TO_POINTER(texts->len - 1));
        return texts->len - 1;
}

static guint text_number(Firefox *firefox, const char *text) {
        return intern(firefox->text_numbers, firefox->texts, text);
}

static void firefox_init(Firefox *firefox, Export *export) {
        *firefox = (Firefox){
                .export = export,
                .samples = g_array_new(FALSE, FALSE, sizeof(Sample)),
                .text_numbers = g_hash_table_new(g_str_hash, g_str_equal),
                .category_numbers = g_hash_table_new(g_str_hash, g_str_equal),
                .texts = g_ptr_array_new_with_free_func(g_free),
                .categories = g_ptr_array_new_with_free_func(g_free),
        };
        intern(firefox->category_numbers, firefox->categories, "Other");
}

static void firefox_deinit(Firefox *firefox) {
        export_frames_deinit(&firefox->frames);
        g_array_unref(firefox->samples);
        g_clear_pointer(&firefox->slices, g_array_unref);
        g_hash_table_unref(firefox->text_numbers);
        g_hash_table_unref(firefox->category_numbers);
        g_ptr_array_unref(firefox->texts);
        g_ptr_array_unref(firefox->categories);
}

static double to_ms(const Firefox *firefox, int64_t ts) {
        return ((double)ts - (double)firefox->export->zero) / 1e6;
}

/* utid, callsite, ts, weight */
static int take_sample(Export *export, sqlite3_stmt *row, void *user_data) {
        Firefox *firefox = user_data;
        Sample sample = { export_column_id(row, 0),
                          export_column_id(row, 1),
                          sqlite3_column_int64(row, 2),
                          sqlite3_column_int64(row, 3) };

        g_array_append_val(firefox->samples, sample);
        return 0;
}

/* The key of a slice is its thread; slices on other tracks are left out. */
static bool slice_key(const TraceStore *store, uint32_t row, uint64_t *ret) {
        *ret = export_slice_utid(store, row);
        return *ret != TRACE_NONE;
}

static int load_samples(Firefox *firefox) {
        g_autofree char *sql = NULL;
        int r = export_samples_choose(firefox->export);
        char *samples;

        if (r)
                return r;
        samples = export_samples_sql(firefox->export);
        if (!samples)
                return -ENOMEM;
        sql = g_strconcat(
                "SELECT utid, callsite_id, ts, weight FROM ", samples, " ORDER BY utid, ts", NULL);
        sqlite3_free(samples);
        return export_each(firefox->export, sql, take_sample, firefox);
}

static int firefox_load(Firefox *firefox) {
        int r = query_load(firefox->export->query,
                           TRACE_PART_THREADS | TRACE_PART_STACKS | TRACE_PART_EVENTS |
                                   TRACE_PART_ARGS);

        if (r == 0)
                r = export_frames_load(&firefox->frames, firefox->export);
        if (r == 0)
                r = load_samples(firefox);
        if (r)
                return r;
        firefox->store = query_store(firefox->export->query);
        firefox->slices = export_slices(firefox->export, slice_key);
        return firefox->samples->len || firefox->slices->len ? 0 : EXPORT_E_EMPTY;
}

/*
 * Columns of tables
 */

static void flush(Firefox *firefox, JsonWriter *writer) {
        fputs(writer->text->str, firefox->export->stream);
        g_string_truncate(writer->text, 0);
}

static void put_constant(JsonWriter *writer, const char *key, size_t n, int value) {
        json_begin_array(writer, key);
        for (size_t i = 0; i < n; i++)
                if (value == NOTHING)
                        json_string(writer, NULL, NULL);
                else
                        json_int(writer, NULL, value);
        json_end_array(writer);
}

static void put_false(JsonWriter *writer, const char *key, size_t n) {
        json_begin_array(writer, key);
        for (size_t i = 0; i < n; i++)
                json_bool(writer, NULL, false);
        json_end_array(writer);
}

static void put_indexes(JsonWriter *writer, const char *key, size_t n) {
        json_begin_array(writer, key);
        for (size_t i = 0; i < n; i++)
                json_uint(writer, NULL, i);
        json_end_array(writer);
}

/* A parent comes before its children, so there can be no circle. */
static void put_stack_table(Firefox *firefox, JsonWriter *writer) {
        const GArray *callsites = firefox->frames.callsites;

        json_begin_object(writer, "stackTable");
        json_uint(writer, "length", callsites->len);
        json_begin_array(writer, "frame");
        for (guint i = 0; i < callsites->len; i++)
                json_uint(writer,
                          NULL,
                          MIN(g_array_index(callsites, ExportCallsite, i).frame,
                              firefox->frames.names->len));
        json_end_array(writer);
        json_begin_array(writer, "prefix");
        for (guint i = 0; i < callsites->len; i++) {
                uint32_t parent = g_array_index(callsites, ExportCallsite, i).parent;

                if (parent < i)
                        json_uint(writer, NULL, parent);
                else
                        json_string(writer, NULL, NULL);
        }
        json_end_array(writer);
        json_end_object(writer);
}

/* Writes the table's frames, and one more for frames that stacks refer to but that are missing. */
static void put_frame_table(Firefox *firefox, JsonWriter *writer) {
        const TraceTable *frames = &firefox->store->tables[TRACE_TABLE_FRAME];
        size_t n = firefox->frames.names->len;

        json_begin_object(writer, "frameTable");
        json_uint(writer, "length", n + 1);
        json_begin_array(writer, "address");
        for (uint32_t row = 0; row < n; row++)
                json_int(writer, NULL, trace_table_i64(frames, FRAME_REL_PC, row));
        json_int(writer, NULL, -1);
        json_end_array(writer);
        put_indexes(writer, "func", n + 1);
        put_constant(writer, "inlineDepth", n + 1, 0);
        put_constant(writer, "category", n + 1, 0);
        put_constant(writer, "subcategory", n + 1, 0);
        put_constant(writer, "nativeSymbol", n + 1, NOTHING);
        put_constant(writer, "innerWindowID", n + 1, 0);
        put_constant(writer, "line", n + 1, NOTHING);
        put_constant(writer, "column", n + 1, NOTHING);
        json_end_object(writer);
}

static void put_function_table(Firefox *firefox, JsonWriter *writer) {
        const TraceTable *frames = &firefox->store->tables[TRACE_TABLE_FRAME];
        size_t n = firefox->frames.names->len;

        json_begin_object(writer, "funcTable");
        json_uint(writer, "length", n + 1);
        json_begin_array(writer, "name");
        for (guint i = 0; i < n; i++)
                json_uint(writer,
                          NULL,
                          text_number(firefox, g_ptr_array_index(firefox->frames.names, i)));
        json_uint(writer, NULL, text_number(firefox, "?"));
        json_end_array(writer);
        json_begin_array(writer, "resource");
        for (uint32_t row = 0; row < n; row++) {
                uint32_t mapping = trace_table_get(frames, FRAME_MAPPING_ID, row);

                json_int(writer, NULL, mapping == TRACE_NONE ? -1 : (int64_t)mapping);
        }
        json_int(writer, NULL, -1);
        json_end_array(writer);
        put_false(writer, "isJS", n + 1);
        put_false(writer, "relevantForJS", n + 1);
        put_constant(writer, "source", n + 1, NOTHING);
        put_constant(writer, "lineNumber", n + 1, NOTHING);
        put_constant(writer, "columnNumber", n + 1, NOTHING);
        json_end_object(writer);
}

static char *mapping_base(const Firefox *firefox, uint32_t row) {
        return g_path_get_basename(
                export_name(firefox->store, TRACE_TABLE_MAPPING, MAPPED_NAME, row));
}

/* Each library has one resource. */
static void put_resource_table(Firefox *firefox, JsonWriter *writer) {
        size_t n = firefox->store->tables[TRACE_TABLE_MAPPING].n;

        json_begin_object(writer, "resourceTable");
        json_uint(writer, "length", n);
        put_indexes(writer, "lib", n);
        json_begin_array(writer, "name");
        for (uint32_t row = 0; row < n; row++) {
                g_autofree char *base = mapping_base(firefox, row);

                json_uint(writer, NULL, text_number(firefox, base));
        }
        json_end_array(writer);
        put_constant(writer, "host", n, NOTHING);
        put_constant(writer, "type", n, RESOURCE_LIBRARY);
        json_end_object(writer);
}

static void put_empty_table(JsonWriter *writer, const char *key, const char *const *columns) {
        json_begin_object(writer, key);
        json_uint(writer, "length", 0);
        for (; *columns; columns++)
                put_constant(writer, *columns, 0, 0);
        json_end_object(writer);
}

static void put_texts(Firefox *firefox, JsonWriter *writer) {
        json_begin_array(writer, "stringArray");
        for (guint i = 0; i < firefox->texts->len; i++)
                json_string(writer, NULL, g_ptr_array_index(firefox->texts, i));
        json_end_array(writer);
}

/* This comes last, as only then all texts are known. */
static void put_shared(Firefox *firefox, JsonWriter *writer) {
        static const char *const symbols[] = {
                "libIndex", "address", "name", "functionSize", NULL
        };
        static const char *const sources[] = { "id",          "filename",     "startLine",
                                               "startColumn", "sourceMapURL", NULL };

        json_begin_object(writer, "shared");
        put_stack_table(firefox, writer);
        put_frame_table(firefox, writer);
        put_function_table(firefox, writer);
        put_resource_table(firefox, writer);
        put_empty_table(writer, "nativeSymbols", symbols);
        put_empty_table(writer, "sources", sources);
        put_texts(firefox, writer);
        json_end_object(writer);
}

static void put_libraries(Firefox *firefox, JsonWriter *writer) {
        json_begin_array(writer, "libs");
        for (uint32_t row = 0; row < firefox->store->tables[TRACE_TABLE_MAPPING].n; row++) {
                const char *path =
                        export_name(firefox->store, TRACE_TABLE_MAPPING, MAPPED_NAME, row);
                g_autofree char *base = mapping_base(firefox, row);

                json_begin_object(writer, NULL);
                json_string(writer, "arch", "");
                json_string(writer, "name", base);
                json_string(writer, "path", path);
                json_string(writer, "debugName", base);
                json_string(writer, "debugPath", path);
                json_string(writer, "breakpadId", "");
                json_string(writer,
                            "codeId",
                            export_name(firefox->store, TRACE_TABLE_MAPPING, MAPPED_BUILD_ID, row));
                json_end_object(writer);
        }
        json_end_array(writer);
}

/*
 * Threads
 */

/* Time is in milliseconds here. Samples that count once have no weight. */
static void put_weights(Firefox *firefox, JsonWriter *writer, guint first, guint end) {
        const Export *export = firefox->export;

        json_string(writer, "weightType", export->is_time ? "tracing-ms" : "samples");
        if (g_strcmp0(export->source, EXPORT_SAMPLES_CPU) == 0) {
                json_string(writer, "weight", NULL);
                return;
        }
        json_begin_array(writer, "weight");
        for (guint i = first; i < end; i++) {
                int64_t weight = g_array_index(firefox->samples, Sample, i).weight;

                if (export->is_time)
                        json_double(writer, NULL, (double)weight / 1e6);
                else
                        json_int(writer, NULL, weight);
        }
        json_end_array(writer);
}

static void put_samples(Firefox *firefox, JsonWriter *writer, guint first, guint end) {
        json_begin_object(writer, "samples");
        json_uint(writer, "length", end - first);
        put_weights(firefox, writer, first, end);
        json_begin_array(writer, "stack");
        for (guint i = first; i < end; i++) {
                uint32_t callsite = g_array_index(firefox->samples, Sample, i).callsite;

                if (callsite < firefox->frames.callsites->len)
                        json_uint(writer, NULL, callsite);
                else
                        json_string(writer, NULL, NULL);
        }
        json_end_array(writer);
        json_begin_array(writer, "time");
        for (guint i = first; i < end; i++)
                json_double(writer,
                            NULL,
                            to_ms(firefox, g_array_index(firefox->samples, Sample, i).ts));
        json_end_array(writer);
        json_end_object(writer);
}

static void put_arg(const ExportArg *arg, void *user_data) {
        GString *text = user_data;

        g_string_append_printf(text, "%s%s=", text->len ? ", " : "", arg->key);
        if (arg->type == EXPORT_ARG_TEXT)
                g_string_append(text, arg->text);
        else if (arg->type == EXPORT_ARG_REAL)
                g_string_append_printf(text, "%g", arg->real);
        else if (arg->type == EXPORT_ARG_BOOL)
                g_string_append(text, arg->value ? "true" : "false");
        else
                g_string_append_printf(text, "%" G_GINT64_FORMAT, arg->value);
}

static void put_marker_data(Firefox *firefox, JsonWriter *writer, uint32_t row) {
        g_autoptr(GString) text = g_string_new(NULL);

        export_args(firefox->store,
                    trace_table_get(&firefox->store->tables[TRACE_TABLE_SLICE], SLICE_ARGS, row),
                    FIREFOX_ARGS_MAX,
                    put_arg,
                    text);
        json_begin_object(writer, NULL);
        json_string(writer, "type", "slice");
        if (text->len)
                json_string(writer, "args", text->str);
        json_end_object(writer);
}

static int marker_phase(int64_t dur) {
        return dur < 0 ? PHASE_INTERVAL_START : dur == 0 ? PHASE_INSTANT : PHASE_INTERVAL;
}

/* Writes one column of the markers, with a value for each slice of the thread. */
static void put_marker(Firefox *firefox, JsonWriter *writer, const char *column, uint32_t row) {
        const TraceTable *slices = &firefox->store->tables[TRACE_TABLE_SLICE];
        const char *category = export_name(firefox->store, TRACE_TABLE_SLICE, SLICE_CATEGORY, row);
        int64_t dur = trace_table_i64(slices, SLICE_DUR, row);

        if (streq(column, "data"))
                put_marker_data(firefox, writer, row);
        else if (streq(column, "name"))
                json_uint(writer,
                          NULL,
                          text_number(
                                  firefox,
                                  export_name(firefox->store, TRACE_TABLE_SLICE, SLICE_NAME, row)));
        else if (streq(column, "startTime"))
                json_double(writer, NULL, to_ms(firefox, trace_table_i64(slices, SLICE_TS, row)));
        else if (streq(column, "phase"))
                json_int(writer, NULL, marker_phase(dur));
        else if (streq(column, "category"))
                json_uint(writer,
                          NULL,
                          *category
                                  ? intern(firefox->category_numbers, firefox->categories, category)
                                  : 0);
        else if (dur > 0)
                json_double(writer, NULL, to_ms(firefox, export_slice_end(firefox->store, row)));
        else
                json_string(writer, NULL, NULL);
}

static void put_markers(Firefox *firefox, JsonWriter *writer, guint first, guint end) {
        static const char *const columns[] = { "data",    "name",  "startTime",
                                               "endTime", "phase", "category" };

        json_begin_object(writer, "markers");
        json_uint(writer, "length", end - first);
        for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
                json_begin_array(writer, columns[i]);
                for (guint j = first; j < end; j++)
                        put_marker(firefox,
                                   writer,
                                   columns[i],
                                   g_array_index(firefox->slices, ExportSlice, j).row);
                json_end_array(writer);
        }
        json_end_object(writer);
}

static void put_thread_names(Firefox *firefox, JsonWriter *writer, uint32_t utid) {
        const TraceTable *threads = &firefox->store->tables[TRACE_TABLE_THREAD];
        int32_t tid = (int32_t)trace_table_get(threads, THREAD_TID, utid), pid = tid;
        uint32_t upid = trace_table_get(threads, THREAD_UPID, utid);
        const char *process = upid == TRACE_NONE ? ""
                                                 : export_name(firefox->store,
                                                               TRACE_TABLE_PROCESS,
                                                               PROCESS_NAME,
                                                               upid),
                   *name = export_name(firefox->store, TRACE_TABLE_THREAD, THREAD_NAME, utid);
        g_autofree char *base = export_basename(*process ? process
                                                : *name  ? name
                                                         : "?"),
                        *number = NULL;

        if (upid != TRACE_NONE)
                pid = (int32_t)trace_table_get(
                        &firefox->store->tables[TRACE_TABLE_PROCESS], PROCESS_PID, upid);
        number = g_strdup_printf("%d", pid);
        json_string(writer, "name", *name ? name : base);
        json_bool(writer, "isMainThread", tid == pid);
        json_string(writer, "processName", base);
        json_string(writer, "pid", number);
        json_int(writer, "tid", tid);
}

static void put_thread(Firefox *firefox, uint32_t utid, guint sample_end, guint slice_end) {
        JsonWriter writer;

        json_writer_init(&writer, JSON_SHORT);
        json_begin_object(&writer, NULL);
        put_thread_names(firefox, &writer, utid);
        json_string(&writer, "processType", "default");
        json_int(&writer, "processStartupTime", 0);
        json_string(&writer, "processShutdownTime", NULL);
        json_int(&writer, "registerTime", 0);
        json_string(&writer, "unregisterTime", NULL);
        json_begin_array(&writer, "pausedRanges");
        json_end_array(&writer);
        json_bool(&writer, "showMarkersInTimeline", true);
        put_samples(firefox, &writer, firefox->next_sample, sample_end);
        put_markers(firefox, &writer, firefox->next_slice, slice_end);
        json_end_object(&writer);
        fputs(firefox->has_threads ? ",\n" : "\n", firefox->export->stream);
        flush(firefox, &writer);
        json_writer_deinit(&writer);
        firefox->export->n_rows +=
                sample_end - firefox->next_sample + slice_end - firefox->next_slice;
        firefox->has_threads = true;
}

static uint32_t next_thread(const Firefox *firefox) {
        uint32_t utid = TRACE_NONE;

        if (firefox->next_sample < firefox->samples->len)
                utid = g_array_index(firefox->samples, Sample, firefox->next_sample).utid;
        if (firefox->next_slice < firefox->slices->len)
                utid = (uint32_t)MIN(
                        utid, g_array_index(firefox->slices, ExportSlice, firefox->next_slice).key);
        return utid;
}

/* Samples and slices are both sorted by thread, and merged here. */
static void put_threads(Firefox *firefox) {
        uint32_t utid;

        fputs("\"threads\":[", firefox->export->stream);
        while ((utid = next_thread(firefox)) != TRACE_NONE) {
                guint sample = firefox->next_sample, slice = firefox->next_slice;

                while (sample < firefox->samples->len &&
                       g_array_index(firefox->samples, Sample, sample).utid == utid)
                        sample++;
                while (slice < firefox->slices->len &&
                       g_array_index(firefox->slices, ExportSlice, slice).key == utid)
                        slice++;
                put_thread(firefox, utid, sample, slice);
                firefox->next_sample = sample;
                firefox->next_slice = slice;
        }
        fputs("\n],\n", firefox->export->stream);
}

/*
 * The profile as a whole
 */

static void put_categories(Firefox *firefox, JsonWriter *writer) {
        static const char *const colors[] = { "grey",   "blue",   "green", "orange",
                                              "purple", "yellow", "red",   "brown" };

        json_begin_array(writer, "categories");
        for (guint i = 0; i < firefox->categories->len; i++) {
                json_begin_object(writer, NULL);
                json_string(writer, "name", g_ptr_array_index(firefox->categories, i));
                json_string(writer,
                            "color",
                            i == 0 ? colors[0] : colors[1 + (i - 1) % (ARRAY_SIZE(colors) - 1)]);
                json_begin_array(writer, "subcategories");
                json_string(writer, NULL, "Other");
                json_end_array(writer);
                json_end_object(writer);
        }
        json_end_array(writer);
}

/* What the profiler shows of a marker: its name and arguments. */
static void put_marker_schema(JsonWriter *writer) {
        static const char *const places[] = { "marker-chart", "marker-table", "timeline-overview" };

        json_begin_array(writer, "markerSchema");
        json_begin_object(writer, NULL);
        json_string(writer, "name", "slice");
        json_string(writer, "chartLabel", "{marker.name}");
        json_string(writer, "tooltipLabel", "{marker.name}");
        json_string(writer, "tableLabel", "{marker.data.args}");
        json_begin_array(writer, "display");
        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                json_string(writer, NULL, places[i]);
        json_end_array(writer);
        json_begin_array(writer, "fields");
        json_begin_object(writer, NULL);
        json_string(writer, "key", "args");
        json_string(writer, "label", "Arguments");
        json_string(writer, "format", "string");
        json_end_object(writer);
        json_end_array(writer);
        json_end_object(writer);
        json_end_array(writer);
}

static void put_meta(Firefox *firefox, JsonWriter *writer) {
        const char *release = export_metadata(firefox->store, "system_release");
        int64_t offset = 0;

        export_realtime_offset(firefox->store, &offset);
        json_begin_object(writer, "meta");
        json_uint(writer, "preprocessedProfileVersion", FORMAT_VERSION);
        json_uint(writer, "version", 24);
        json_string(writer, "product", "desktrace");
        json_string(writer, "oscpu", release ? release : "Linux");
        json_double(writer, "startTime", ((double)firefox->export->zero + (double)offset) / 1e6);
        json_uint(writer, "interval", 1);
        json_uint(writer, "processType", 0);
        json_uint(writer, "stackwalk", 1);
        json_bool(writer, "debug", false);
        json_bool(writer, "symbolicated", true);
        put_categories(firefox, writer);
        put_marker_schema(writer);
        json_end_object(writer);
}

int export_firefox(Export *export) {
        Firefox firefox;
        JsonWriter writer;
        int r;

        firefox_init(&firefox, export);
        r = firefox_load(&firefox);
        if (r == 0) {
                fputs("{", export->stream);
                put_threads(&firefox);
                json_writer_init(&writer, JSON_SHORT);
                json_begin_object(&writer, NULL);
                put_meta(&firefox, &writer);
                put_libraries(&firefox, &writer);
                put_shared(&firefox, &writer);
                json_begin_array(&writer, "pages");
                json_end_array(&writer);
                json_end_object(&writer);
                fprintf(export->stream,
                        "%s\n",
                        writer.text->str + 1); /* the text continues after the list of threads */
                json_writer_deinit(&writer);
        }
        firefox_deinit(&firefox);
        return r == 0 && ferror(export->stream) ? EXPORT_E_WRITE : r;
}
