/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Export OTLP: slices as spans of OpenTelemetry, in the JSON or in the protobuf that its protocol defines */

#include "client/export-otlp.h"

#include <inttypes.h>
#include <string.h>

#include "answers/answer-who.h"
#include "client/export-slices.h"
#include "client/otlp-writer.h"

enum { KIND_INTERNAL = 1 };
enum { TRACE_ID_DIGITS = 32 };

/* For each slice, a list of rows: its instants, and the flows that end there. */
typedef struct Items {
        uint32_t *first; /* by slice */
        uint32_t *next;  /* by item */
} Items;

typedef struct Otlp {
        const TraceStore *store;
        Export *export;
        int64_t offset; /* by the wall clock */
        bool is_binary;
        char trace_id[TRACE_ID_DIGITS + 1];
        Items instants, flows;
        OtlpWriter writer;
} Otlp;

static const TraceTable *slices_of(const Otlp *otlp) {
        return &otlp->store->tables[TRACE_TABLE_SLICE];
}

static void items_init(Items *items, size_t n_slices, size_t n_items) {
        items->first = g_new(uint32_t, n_slices + 1);
        items->next = g_new(uint32_t, n_items + 1);
        memset(items->first, 0xff, (n_slices + 1) * sizeof(*items->first));
}

static void items_deinit(Items *items) {
        g_free(items->first);
        g_free(items->next);
}

/* Items are added from the last to the first, so that each list is in their order. */
static void items_add(Items *items, uint32_t slice, uint32_t item) {
        items->next[item] = items->first[slice];
        items->first[slice] = item;
}

/* Finds the span among the slice itself and those around it: a slice that takes time, and whose end is known. */
static uint32_t span_of(const TraceStore *store, uint32_t row) {
        const TraceTable *slices = &store->tables[TRACE_TABLE_SLICE];

        for (unsigned depth = 0; row < slices->n && depth < EXPORT_DEPTH_MAX; depth++) {
                if (trace_table_i64(slices, SLICE_DUR, row) > 0)
                        return row;
                row = trace_table_get(slices, SLICE_PARENT, row);
        }
        return TRACE_NONE;
}

/* Instants outside of all spans become spans without length. */
static bool is_span(const TraceStore *store, uint32_t row) {
        int64_t dur = trace_table_i64(&store->tables[TRACE_TABLE_SLICE], SLICE_DUR, row);

        return dur > 0 || (dur == 0 && span_of(store, row) == TRACE_NONE);
}

static uint32_t span_of_any(const TraceStore *store, uint32_t row) {
        return row < store->tables[TRACE_TABLE_SLICE].n && is_span(store, row)
                       ? row
                       : span_of(store, row);
}

static void find_items(Otlp *otlp) {
        const TraceTable *flows = &otlp->store->tables[TRACE_TABLE_FLOW];
        size_t n = slices_of(otlp)->n;

        items_init(&otlp->instants, n, n);
        items_init(&otlp->flows, n, flows->n);
        for (uint32_t row = (uint32_t)n; row-- > 0;) {
                uint32_t span = span_of(otlp->store, row);

                if (trace_table_i64(slices_of(otlp), SLICE_DUR, row) == 0 && span != TRACE_NONE)
                        items_add(&otlp->instants, span, row);
        }
        for (uint32_t row = (uint32_t)flows->n; row-- > 0;) {
                uint32_t span = span_of_any(otlp->store, trace_table_get(flows, FLOW_IN, row));

                if (span != TRACE_NONE)
                        items_add(&otlp->flows, span, row);
        }
}

/*
 * Values
 */

static void put_ns(Otlp *otlp, const char *key, int64_t ts) {
        int64_t ns;

        if (__builtin_add_overflow(ts, otlp->offset, &ns) || ns < 0)
                ns = 0;
        otlp_int64(&otlp->writer, key, ns);
}

static void put_span_id(Otlp *otlp, const char *key, uint32_t row) {
        char text[20];

        snprintf(text,
                 sizeof(text),
                 "%016" PRIx64,
                 (uint64_t)row + 1); /* no span has the number 0 */
        otlp_id(&otlp->writer, key, text);
}

static void begin_attribute(OtlpWriter *writer, const char *key) {
        otlp_begin_object(writer, NULL);
        otlp_string(writer, "key", key);
        otlp_begin_object(writer, "value");
}

static void end_attribute(OtlpWriter *writer) {
        otlp_end_object(writer);
        otlp_end_object(writer);
}

static void put_text(OtlpWriter *writer, const char *key, const char *value) {
        if (!value || !*value)
                return;
        begin_attribute(writer, key);
        otlp_string(writer, "stringValue", value);
        end_attribute(writer);
}

static void put_int(OtlpWriter *writer, const char *key, int64_t value) {
        begin_attribute(writer, key);
        otlp_int64(writer, "intValue", value);
        end_attribute(writer);
}

static void put_arg(const ExportArg *arg, void *user_data) {
        OtlpWriter *writer = user_data;

        if (arg->type == EXPORT_ARG_INT) {
                put_int(writer, arg->key, arg->value);
                return;
        }
        begin_attribute(writer, arg->key);
        if (arg->type == EXPORT_ARG_REAL)
                otlp_double(writer, "doubleValue", arg->real);
        else if (arg->type == EXPORT_ARG_BOOL)
                otlp_bool(writer, "boolValue", arg->value != 0);
        else
                otlp_string(writer, "stringValue", arg->text);
        end_attribute(writer);
}

static void put_thread(Otlp *otlp, uint32_t utid) {
        const TraceTable *threads = &otlp->store->tables[TRACE_TABLE_THREAD];

        if (utid == TRACE_NONE)
                return;
        put_int(&otlp->writer, "thread.id", (int32_t)trace_table_get(threads, THREAD_TID, utid));
        put_text(&otlp->writer,
                 "thread.name",
                 export_name(otlp->store, TRACE_TABLE_THREAD, THREAD_NAME, utid));
}

/* Writes where the slice happened: on a thread, or on another track. */
static void put_place(Otlp *otlp, uint32_t row) {
        uint32_t track = trace_table_get(slices_of(otlp), SLICE_TRACK, row);

        put_thread(otlp, export_slice_utid(otlp->store, row));
        if (track != TRACE_NONE)
                put_text(&otlp->writer,
                         "track",
                         export_name(otlp->store, TRACE_TABLE_TRACK, TRACK_NAME, track));
}

static void put_args(Otlp *otlp, uint32_t row) {
        size_t n_dropped = export_args(otlp->store,
                                       trace_table_get(slices_of(otlp), SLICE_ARGS, row),
                                       OTLP_ATTRIBUTES_MAX,
                                       put_arg,
                                       &otlp->writer);

        otlp_end_array(&otlp->writer);
        if (n_dropped)
                otlp_uint(&otlp->writer, "droppedAttributesCount", n_dropped);
}

/*
 * Spans
 */

static void put_event(Otlp *otlp, uint32_t row) {
        otlp_begin_object(&otlp->writer, NULL);
        put_ns(otlp, "timeUnixNano", trace_table_i64(slices_of(otlp), SLICE_TS, row));
        otlp_string(&otlp->writer,
                    "name",
                    export_name(otlp->store, TRACE_TABLE_SLICE, SLICE_NAME, row));
        otlp_begin_array(&otlp->writer, "attributes");
        put_args(otlp, row);
        otlp_end_object(&otlp->writer);
        otlp->export->n_rows++;
}

static void put_link(Otlp *otlp, uint32_t flow) {
        uint32_t from = span_of_any(
                otlp->store,
                trace_table_get(&otlp->store->tables[TRACE_TABLE_FLOW], FLOW_OUT, flow));

        if (from == TRACE_NONE)
                return;
        otlp_begin_object(&otlp->writer, NULL);
        otlp_id(&otlp->writer, "traceId", otlp->trace_id);
        put_span_id(otlp, "spanId", from);
        otlp_end_object(&otlp->writer);
}

static void put_items(Otlp *otlp,
                      const Items *items,
                      uint32_t slice,
                      const char *key,
                      const char *dropped,
                      void (*put)(Otlp *otlp, uint32_t item)) {
        uint32_t item = items->first[slice];
        size_t n = 0;

        if (item == TRACE_NONE)
                return;
        otlp_begin_array(&otlp->writer, key);
        for (; item != TRACE_NONE; item = items->next[item])
                if (n++ < OTLP_ITEMS_MAX)
                        put(otlp, item);
        otlp_end_array(&otlp->writer);
        if (n > OTLP_ITEMS_MAX)
                otlp_uint(&otlp->writer, dropped, n - OTLP_ITEMS_MAX);
}

static void put_span(Otlp *otlp, uint32_t row) {
        uint32_t parent = span_of(otlp->store, trace_table_get(slices_of(otlp), SLICE_PARENT, row));

        otlp_begin_object(&otlp->writer, NULL);
        otlp_id(&otlp->writer, "traceId", otlp->trace_id);
        put_span_id(otlp, "spanId", row);
        if (parent != TRACE_NONE)
                put_span_id(otlp, "parentSpanId", parent);
        otlp_string(&otlp->writer,
                    "name",
                    export_name(otlp->store, TRACE_TABLE_SLICE, SLICE_NAME, row));
        otlp_uint(&otlp->writer, "kind", KIND_INTERNAL);
        put_ns(otlp, "startTimeUnixNano", trace_table_i64(slices_of(otlp), SLICE_TS, row));
        put_ns(otlp, "endTimeUnixNano", export_slice_end(otlp->store, row));
        otlp_begin_array(&otlp->writer, "attributes");
        put_place(otlp, row);
        put_args(otlp, row);
        put_items(otlp, &otlp->instants, row, "events", "droppedEventsCount", put_event);
        put_items(otlp, &otlp->flows, row, "links", "droppedLinksCount", put_link);
        otlp_end_object(&otlp->writer);
        otlp->export->n_rows++;
}

/*
 * Lines
 */

/* Names of processors as OpenTelemetry has them. */
static const char *architecture(const char *machine) {
        if (!machine)
                return NULL;
        return streq(machine, "x86_64")    ? "amd64"
               : streq(machine, "aarch64") ? "arm64"
               : streq(machine, "i686")    ? "x86"
                                           : machine;
}

static void put_machine(Otlp *otlp) {
        put_text(&otlp->writer, "os.type", "linux");
        put_text(&otlp->writer, "os.version", export_metadata(otlp->store, "system_release"));
        put_text(&otlp->writer,
                 "host.arch",
                 architecture(export_metadata(otlp->store, "system_machine")));
}

/* A service is what people call a program: its app or unit, or else its name. */
static void put_process(Otlp *otlp, uint32_t upid) {
        const TraceStore *store = otlp->store;
        const char *name = export_name(store, TRACE_TABLE_PROCESS, PROCESS_NAME, upid);
        const char *unit = trace_pool_text(&store->pool, answer_who_unit_of_process(store, upid));
        g_autofree char *base = export_basename(*name ? name : "unknown_service");

        put_text(&otlp->writer, "service.name", unit ? unit : base);
        put_int(&otlp->writer,
                "process.pid",
                (int32_t)trace_table_get(&store->tables[TRACE_TABLE_PROCESS], PROCESS_PID, upid));
        put_text(&otlp->writer, "process.command", name);
        put_text(&otlp->writer,
                 "process.command_line",
                 export_name(store, TRACE_TABLE_PROCESS, PROCESS_CMDLINE, upid));
        put_text(&otlp->writer,
                 "container.name",
                 export_name(store, TRACE_TABLE_PROCESS, PROCESS_CONTAINER, upid));
}

static void begin_line(Otlp *otlp, uint32_t row) {
        uint32_t upid = export_slice_upid(otlp->store, row);
        const char *category = export_name(otlp->store, TRACE_TABLE_SLICE, SLICE_CATEGORY, row);

        otlp_writer_init(&otlp->writer, otlp->is_binary);
        otlp_begin_object(&otlp->writer, NULL);
        otlp_begin_array(&otlp->writer, "resourceSpans");
        otlp_begin_object(&otlp->writer, NULL);
        otlp_begin_object(&otlp->writer, "resource");
        otlp_begin_array(&otlp->writer, "attributes");
        if (upid == TRACE_NONE)
                put_text(&otlp->writer, "service.name", "machine");
        else
                put_process(otlp, upid);
        put_machine(otlp);
        otlp_end_array(&otlp->writer);
        otlp_end_object(&otlp->writer);
        otlp_begin_array(&otlp->writer, "scopeSpans");
        otlp_begin_object(&otlp->writer, NULL);
        otlp_begin_object(&otlp->writer, "scope");
        otlp_string(&otlp->writer, "name", category);
        otlp_end_object(&otlp->writer);
        otlp_begin_array(&otlp->writer, "spans");
}

static void end_line(Otlp *otlp) {
        otlp_end_array(&otlp->writer);
        otlp_end_object(&otlp->writer);
        otlp_end_array(&otlp->writer);
        otlp_end_object(&otlp->writer);
        otlp_end_array(&otlp->writer);
        otlp_end_object(&otlp->writer);
        otlp_writer_print(&otlp->writer, otlp->export->stream);
        otlp_writer_deinit(&otlp->writer);
}

/* By process and category. Slices whose end is not known cannot be spans. */
static bool slice_key(const TraceStore *store, uint32_t row, uint64_t *ret) {
        uint32_t category = trace_table_get(&store->tables[TRACE_TABLE_SLICE], SLICE_CATEGORY, row);

        *ret = (uint64_t)export_slice_upid(store, row) << 32 | category;
        return trace_table_i64(&store->tables[TRACE_TABLE_SLICE], SLICE_DUR, row) >= 0;
}

static void put_lines(Otlp *otlp, const GArray *slices) {
        size_t n_in_line = 0;
        uint64_t key = 0;

        for (guint i = 0; i < slices->len; i++) {
                const ExportSlice *slice = &g_array_index(slices, ExportSlice, i);

                if (!is_span(otlp->store, slice->row))
                        continue;
                if (n_in_line && (slice->key != key || n_in_line == OTLP_SPANS_MAX)) {
                        end_line(otlp);
                        n_in_line = 0;
                }
                if (n_in_line++ == 0)
                        begin_line(otlp, slice->row);
                key = slice->key;
                put_span(otlp, slice->row);
        }
        if (n_in_line)
                end_line(otlp);
}

/* The trace's own number without its dashes. A trace without a number gets one from the time at which it was
 * recorded. */
static void make_trace_id(Otlp *otlp) {
        const char *uuid = export_metadata(otlp->store, "trace_uuid");
        size_t n = 0;

        for (; uuid && *uuid && n < TRACE_ID_DIGITS; uuid++)
                if (g_ascii_isxdigit(*uuid))
                        otlp->trace_id[n++] = g_ascii_tolower(*uuid);
        if (n < TRACE_ID_DIGITS)
                snprintf(otlp->trace_id,
                         sizeof(otlp->trace_id),
                         "%016" PRIx64 "%016" PRIx64,
                         (uint64_t)otlp->offset,
                         (uint64_t)otlp->export->zero | 1);
}

static int export_spans(Export *export, bool is_binary) {
        int r = query_load(export->query, TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_ARGS);
        Otlp otlp = { .export = export,
                      .store = query_store(export->query),
                      .is_binary = is_binary };
        GArray *slices;

        if (r)
                return r;
        if (!export_realtime_offset(otlp.store, &otlp.offset))
                return EXPORT_E_NO_CLOCK;
        slices = export_slices(export, slice_key);
        make_trace_id(&otlp);
        find_items(&otlp);
        put_lines(&otlp, slices);
        items_deinit(&otlp.instants);
        items_deinit(&otlp.flows);
        g_array_unref(slices);
        return ferror(export->stream) ? EXPORT_E_WRITE : 0;
}

int export_otlp(Export *export) {
        return export_spans(export, false);
}

int export_otlp_protobuf(Export *export) {
        return export_spans(export, true);
}
