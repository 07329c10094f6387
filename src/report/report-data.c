/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The data begins with a JSON head, which describes the columns that follow. Numbers in columns have seven bits in a
 * byte, lowest first; a start is the distance from the previous start on the same line.
 */

#include "report/report-data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "report/report-heaps.h"
#include "report/report-json.h"
#include "report/report-stacks.h"

enum { COLUMN_START, COLUMN_DURATION, COLUMN_WHAT, COLUMN_N, COLUMN_VALUE, COLUMN_FLOW, _COLUMN_N };

typedef struct Writer {
        const ReportContent *content;
        ReportJson json;
        Bytes columns[_COLUMN_N];
        int error;
        int64_t before_ns; /* the previous start on this line */
        ReportKind kind;
        uint32_t *names; /* number in the pool → number in the page plus one; 0: not used yet */
        uint32_t *used;  /* the reverse */
        size_t n_used;
        ReportStacks stacks;
        ReportHeaps heaps;
        uint32_t *first_track; /* by thread: its first track */
        uint32_t *next_track;  /* by track: the next track of the same thread */
        size_t n_lanes, n_left_out;
} Writer;

static const char *text_of(const Writer *writer, uint32_t name) {
        return trace_pool_text(&writer->content->store->pool, name);
}

/*
 * Columns
 */

static void put_bytes(Writer *writer, unsigned column, const void *data, size_t n) {
        int r = bytes_append(&writer->columns[column], data, n);

        if (r != 0)
                writer->error = r;
}

static void put_number(Writer *writer, unsigned column, uint64_t number) {
        uint8_t bytes[10];
        size_t n = 0;

        do {
                bytes[n] = (uint8_t)(number & 0x7f);
                number >>= 7;
                bytes[n++] |= number > 0 ? 0x80 : 0;
        } while (number > 0);
        put_bytes(writer, column, bytes, n);
}

/* A start is never before the previous one, nor before the recording. */
static void put_start(Writer *writer, int64_t at_ns) {
        int64_t at = MAX(at_ns, writer->before_ns);

        put_number(writer, COLUMN_START, (uint64_t)at - (uint64_t)writer->before_ns);
        writer->before_ns = at;
}

static uint32_t number_of_name(Writer *writer, uint32_t name) {
        if (name >= writer->content->store->pool.n_texts)
                name = 0;
        if (writer->names[name] == 0) {
                writer->used[writer->n_used++] = name;
                writer->names[name] = (uint32_t)writer->n_used;
        }
        return writer->names[name] - 1;
}

/* Threads have the numbers of their table, stacks numbers of their own; states and texts are numbered by name. */
static uint32_t number_of(Writer *writer, uint32_t what) {
        if (writer->kind == REPORT_CPUS)
                return what == TRACE_NONE ? 0 : what;
        if (writer->kind == REPORT_STATES)
                what = what <= TRACE_STATES_MAX ? writer->content->store->states[what] : 0;
        if (writer->kind == REPORT_SAMPLES || writer->kind == REPORT_SLEEPS ||
            writer->kind == REPORT_FAULTS)
                return report_stacks_number(&writer->stacks, what);
        return number_of_name(writer, what);
}

static void put_row(void *userdata, const ReportRow *row) {
        Writer *writer = userdata;

        put_start(writer, row->start_ns);
        put_number(
                writer, COLUMN_DURATION, row->duration_ns < 0 ? 0 : (uint64_t)row->duration_ns + 1);
        put_number(writer, COLUMN_WHAT, number_of(writer, row->what));
        put_number(writer, COLUMN_N, row->n - 1);
}

static void put_value(void *userdata, int64_t at_ns, double value) {
        Writer *writer = userdata;

        put_start(writer, at_ns);
        put_bytes(writer, COLUMN_VALUE, &value, sizeof(value));
}

/*
 * Lanes
 */

/* The lines of a key of this kind: their lengths go into the head, their rows into the columns. */
static void put_lines(Writer *writer, ReportKind kind, uint32_t key) {
        const ReportLines *lines = &writer->content->lines[kind];

        writer->kind = kind;
        report_json_begin(&writer->json, "lines", '[');
        for (uint32_t line = lines->first_line[key]; line < lines->first_line[key + 1]; line++) {
                size_t n;

                writer->before_ns = writer->content->start_ns;
                n = kind == REPORT_VALUES
                            ? report_thin_values(
                                      lines, line, writer->content->grain_ns, put_value, writer)
                            : report_content_rows(writer->content, kind, line, put_row, writer);
                report_json_number(&writer->json, NULL, (int64_t)n);
        }
        report_json_end(&writer->json, ']');
}

static const char *const kind_names[_REPORT_KIND_N] = {
        [REPORT_CPUS] = "cpu",      [REPORT_STATES] = "states", [REPORT_SLICES] = "slices",
        [REPORT_VALUES] = "values", [REPORT_LOGS] = "logs",     [REPORT_SAMPLES] = "samples",
        [REPORT_SLEEPS] = "sleeps", [REPORT_FAULTS] = "faults",
};

static bool begin_lane(Writer *writer, ReportKind kind, uint32_t key, const char *name) {
        if (!report_lines_has(&writer->content->lines[kind], key))
                return false;
        if (writer->n_lanes == REPORT_LANES_MAX) {
                writer->n_left_out++;
                return false;
        }
        writer->n_lanes++;
        report_json_begin(&writer->json, NULL, '{');
        report_json_text(&writer->json, "kind", kind_names[kind], SIZE_MAX);
        report_json_text(&writer->json, "name", name, REPORT_NAME_BYTES_MAX);
        if (kind == REPORT_SLICES || kind == REPORT_VALUES)
                report_json_number(&writer->json, "track", key);
        return true;
}

static void end_lane(Writer *writer, ReportKind kind, uint32_t key) {
        put_lines(writer, kind, key);
        report_json_end(&writer->json, '}');
}

static void put_track(Writer *writer, uint32_t track, uint32_t utid) {
        const TraceStore *store = writer->content->store;
        const TraceTable *tracks = &store->tables[TRACE_TABLE_TRACK];
        ReportKind kind = trace_table_get(tracks, TRACK_KIND, track) == TRACK_KIND_COUNTER
                                  ? REPORT_VALUES
                                  : REPORT_SLICES;
        const char *unit = text_of(writer, trace_table_get(tracks, TRACK_UNIT, track));
        uint32_t cpu = trace_table_get(tracks, TRACK_CPU, track);

        if (!begin_lane(writer,
                        kind,
                        track,
                        text_of(writer, trace_table_get(tracks, TRACK_NAME, track))))
                return;
        if (utid != TRACE_NONE)
                report_json_number(&writer->json, "thread", utid);
        if (unit)
                report_json_text(&writer->json, "unit", unit, REPORT_NAME_BYTES_MAX);
        if (cpu != TRACE_NONE)
                report_json_number(&writer->json, "cpu", cpu);
        end_lane(writer, kind, track);
}

static void put_thread(Writer *writer, uint32_t utid) {
        static const ReportKind kinds[] = {
                REPORT_STATES, REPORT_SAMPLES, REPORT_SLEEPS, REPORT_FAULTS
        };

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (begin_lane(writer, kinds[i], utid, NULL)) {
                        report_json_number(&writer->json, "thread", utid);
                        end_lane(writer, kinds[i], utid);
                }
        for (uint32_t track = writer->first_track[utid]; track != TRACE_NONE;
             track = writer->next_track[track])
                put_track(writer, track, utid);
}

static void put_machine_lanes(Writer *writer) {
        const ReportContent *content = writer->content;

        for (uint32_t cpu = 0; cpu < content->lines[REPORT_CPUS].n_keys; cpu++) {
                char name[32];

                snprintf(name, sizeof(name), "CPU %u", cpu);
                if (begin_lane(writer, REPORT_CPUS, cpu, name))
                        end_lane(writer, REPORT_CPUS, cpu);
        }
        for (uint32_t priority = 0; priority < content->lines[REPORT_LOGS].n_keys; priority++)
                if (begin_lane(writer, REPORT_LOGS, priority, NULL)) {
                        report_json_number(&writer->json, "priority", priority);
                        end_lane(writer, REPORT_LOGS, priority);
                }
}

static void put_group_name(Writer *writer, const ReportGroup *group) {
        const TraceTable *processes = &writer->content->store->tables[TRACE_TABLE_PROCESS];
        int64_t pid;

        if (group->upid == REPORT_MACHINE)
                return;
        report_json_number(&writer->json, "upid", group->upid);
        report_json_text(&writer->json,
                         "name",
                         text_of(writer, trace_table_get(processes, PROCESS_NAME, group->upid)),
                         REPORT_NAME_BYTES_MAX);
        if (trace_table_number(processes, PROCESS_PID, group->upid, &pid))
                report_json_number(&writer->json, "pid", pid);
        report_json_text(&writer->json,
                         "unit",
                         text_of(writer, trace_table_get(processes, PROCESS_UNIT, group->upid)),
                         REPORT_NAME_BYTES_MAX);
        report_json_number(&writer->json, "running", group->running_ns);
}

/* Tracks of this kind that belong to no thread. */
static void put_tracks(Writer *writer, const ReportGroup *group, uint32_t kind) {
        const TraceTable *tracks = &writer->content->store->tables[TRACE_TABLE_TRACK];

        for (size_t i = 0; i < group->n_tracks; i++)
                if (trace_table_get(tracks, TRACK_UTID, group->tracks[i]) == TRACE_NONE &&
                    trace_table_get(tracks, TRACK_KIND, group->tracks[i]) == kind)
                        put_track(writer, group->tracks[i], TRACE_NONE);
}

static void begin_group(Writer *writer, const ReportGroup *group, bool has_counters) {
        report_json_begin(&writer->json, NULL, '{');
        put_group_name(writer, group);
        if (has_counters)
                report_json_number(&writer->json, "counters", 1);
        report_json_begin(&writer->json, "lanes", '[');
}

static void end_group(Writer *writer) {
        report_json_end(&writer->json, ']');
        report_json_end(&writer->json, '}');
}

/* The machine has many counters, so they form a group of their own. */
static void put_group(Writer *writer, const ReportGroup *group) {
        begin_group(writer, group, false);
        if (group->upid == REPORT_MACHINE)
                put_machine_lanes(writer);
        put_tracks(writer, group, TRACK_KIND_SLICE);
        if (group->upid == REPORT_MACHINE) {
                end_group(writer);
                begin_group(writer, group, true);
        }
        put_tracks(writer, group, TRACK_KIND_COUNTER);
        for (size_t i = 0; i < group->n_threads; i++)
                put_thread(writer, group->threads[i]);
        end_group(writer);
}

/*
 * Head
 */

static void put_threads(Writer *writer) {
        const TraceTable *threads = &writer->content->store->tables[TRACE_TABLE_THREAD];

        report_json_begin(&writer->json, "threads", '[');
        for (uint32_t utid = 0; utid < threads->n; utid++) {
                int64_t tid = 0;
                uint32_t upid = trace_table_get(threads, THREAD_UPID, utid);

                trace_table_number(threads, THREAD_TID, utid, &tid);
                report_json_begin(&writer->json, NULL, '[');
                report_json_number(&writer->json, NULL, tid);
                report_json_text(&writer->json,
                                 NULL,
                                 text_of(writer, trace_table_get(threads, THREAD_NAME, utid)),
                                 REPORT_NAME_BYTES_MAX);
                report_json_number(&writer->json, NULL, upid == TRACE_NONE ? -1 : (int64_t)upid);
                report_json_end(&writer->json, ']');
        }
        report_json_end(&writer->json, ']');
}

static void put_processes(Writer *writer) {
        const TraceTable *processes = &writer->content->store->tables[TRACE_TABLE_PROCESS];

        report_json_begin(&writer->json, "processes", '[');
        for (uint32_t upid = 0; upid < processes->n; upid++)
                report_json_text(&writer->json,
                                 NULL,
                                 text_of(writer, trace_table_get(processes, PROCESS_NAME, upid)),
                                 REPORT_NAME_BYTES_MAX);
        report_json_end(&writer->json, ']');
}

/*
 * Heaps
 */

static void put_change(Writer *writer, const ReportHeapChange *change) {
        ReportJson *json = &writer->json;

        report_json_number(json, NULL, report_stacks_number(&writer->stacks, change->callsite));
        report_json_number(
                json,
                NULL,
                (int64_t)((uint64_t)change->at_ns - (uint64_t)writer->content->start_ns));
        report_json_number(json, NULL, change->n_bytes);
}

static void put_sums(Writer *writer, const ReportHeapSite *site) {
        ReportJson *json = &writer->json;

        report_json_number(json, NULL, report_stacks_number(&writer->stacks, site->callsite));
        report_json_number(json, NULL, site->allocated);
        report_json_number(json, NULL, site->at_peak);
        report_json_number(json, NULL, site->freed_soon);
}

/* The site's heap held against a change's, in the order of both. */
static int compare_heaps(const ReportHeapSite *site, const ReportHeapChange *change) {
        if (site->upid != change->upid)
                return site->upid < change->upid ? -1 : 1;
        if (site->heap != change->heap)
                return site->heap < change->heap ? -1 : 1;
        return (site->recording > change->recording) - (site->recording < change->recording);
}

static bool is_of_same_heap(const ReportHeapChange *a, const ReportHeapChange *b) {
        return a->upid == b->upid && a->heap == b->heap && a->recording == b->recording;
}

/* Recordings that were made at the same time would otherwise be added up. */
static void put_heap_name(Writer *writer, const ReportHeapChange *change) {
        const char *name = text_of(writer, change->heap);
        char numbered[REPORT_NAME_BYTES_MAX + 16];

        if (change->recording > 0) {
                snprintf(numbered,
                         sizeof(numbered),
                         "%.*s (%" PRIu32 ")",
                         (int)REPORT_NAME_BYTES_MAX,
                         name ? name : "?",
                         change->recording + 1);
                name = numbered;
        }
        report_json_text(&writer->json, "name", name, REPORT_NAME_BYTES_MAX);
}

/* The heap that begins with this change; the sites from *site on that belong to it are included. Returns the change
 * after it. A heap without changes is one whose sums are all 0. */
static size_t put_heap(Writer *writer, size_t begin, size_t *site) {
        const ReportHeaps *heaps = &writer->heaps;
        const ReportHeapChange *first = &heaps->changes[begin];
        size_t change;

        report_json_begin(&writer->json, NULL, '{');
        report_json_number(
                &writer->json, "upid", first->upid == TRACE_NONE ? -1 : (int64_t)first->upid);
        put_heap_name(writer, first);
        report_json_begin(&writer->json, "changes", '[');
        for (change = begin;
             change < heaps->n_changes && is_of_same_heap(&heaps->changes[change], first);
             change++)
                put_change(writer, &heaps->changes[change]);
        report_json_end(&writer->json, ']');
        report_json_begin(&writer->json, "sums", '[');
        while (*site < heaps->n_sites && compare_heaps(&heaps->sites[*site], first) < 0)
                (*site)++;
        for (; *site < heaps->n_sites && compare_heaps(&heaps->sites[*site], first) == 0; (*site)++)
                put_sums(writer, &heaps->sites[*site]);
        report_json_end(&writer->json, ']');
        report_json_end(&writer->json, '}');
        return change;
}

static void put_heaps(Writer *writer) {
        size_t site = 0;

        report_json_begin(&writer->json, "heaps", '[');
        for (size_t change = 0; change < writer->heaps.n_changes;)
                change = put_heap(writer, change, &site);
        report_json_end(&writer->json, ']');
}

/* Comes after the lanes and heaps, which determine the stacks that are needed: pairs of a caller and a name. */
static void put_stacks(Writer *writer) {
        report_json_begin(&writer->json, "stacks", '[');
        for (size_t i = 0; i < writer->stacks.n; i++) {
                report_json_number(&writer->json, NULL, report_stacks_parent(&writer->stacks, i));
                report_json_number(&writer->json,
                                   NULL,
                                   number_of_name(writer, report_stacks_name(&writer->stacks, i)));
        }
        report_json_end(&writer->json, ']');
}

/* Comes last, as everything before adds names. */
static void put_names(Writer *writer) {
        report_json_begin(&writer->json, "names", '[');
        for (size_t i = 0; i < writer->n_used; i++)
                report_json_text(&writer->json,
                                 NULL,
                                 text_of(writer, writer->used[i]),
                                 REPORT_NAME_BYTES_MAX);
        report_json_end(&writer->json, ']');
}

/*
 * Flows
 */

/* Signed, as an end may be before its beginning: the lowest bit is the sign. */
static void put_distance(Writer *writer, int64_t from_ns, int64_t to_ns) {
        int64_t distance;

        if (__builtin_sub_overflow(to_ns, from_ns, &distance))
                distance = 0;
        put_number(writer,
                   COLUMN_FLOW,
                   distance < 0 ? ((uint64_t) - (distance + 1) << 1) + 1 : (uint64_t)distance << 1);
}

static int64_t put_end_of_flow(Writer *writer, uint32_t slice, int64_t before_ns) {
        const TraceTable *slices = &writer->content->store->tables[TRACE_TABLE_SLICE];
        int64_t at_ns = trace_table_i64(slices, SLICE_TS, slice);
        uint32_t depth = trace_table_get(slices, SLICE_DEPTH, slice);

        put_distance(writer, before_ns, at_ns);
        put_number(writer, COLUMN_FLOW, trace_table_get(slices, SLICE_TRACK, slice));
        put_number(writer, COLUMN_FLOW, depth == TRACE_NONE ? 0 : depth);
        return at_ns;
}

/* If a recording has very many flows, an even sample of them is kept. */
static void put_flows(Writer *writer) {
        const TraceTable *flows = &writer->content->store->tables[TRACE_TABLE_FLOW];
        size_t n_slices = writer->content->store->tables[TRACE_TABLE_SLICE].n;
        size_t stride = flows->n / REPORT_FLOWS_MAX + 1;
        int64_t before_ns = writer->content->start_ns;
        int64_t n = 0;

        for (size_t row = 0; row < flows->n; row += stride) {
                uint32_t out = trace_table_get(flows, FLOW_OUT, (uint32_t)row),
                         in = trace_table_get(flows, FLOW_IN, (uint32_t)row);

                if (out >= n_slices || in >= n_slices)
                        continue;
                before_ns = put_end_of_flow(writer, out, before_ns);
                put_end_of_flow(writer, in, before_ns);
                n++;
        }
        report_json_number(&writer->json, "flows", n);
}

/*
 * The rest of the head
 */

static void put_wall_time(Writer *writer) {
        int64_t at_ns;

        if (report_content_wall_time(writer->content, writer->content->start_ns, &at_ns))
                report_json_number(&writer->json, "wallTime", at_ns / 1000000);
}

static void put_view(Writer *writer, int64_t from_ns, int64_t to_ns) {
        const uint64_t start_ns = (uint64_t)writer->content->start_ns;

        if (from_ns == to_ns)
                return;
        report_json_begin(&writer->json, "view", '[');
        report_json_number(&writer->json, NULL, (int64_t)((uint64_t)from_ns - start_ns));
        report_json_number(&writer->json, NULL, (int64_t)((uint64_t)to_ns - start_ns));
        report_json_end(&writer->json, ']');
}

static void put_head(Writer *writer, const char *title, int64_t from_ns, int64_t to_ns) {
        const ReportContent *content = writer->content;

        report_json_begin(&writer->json, NULL, '{');
        report_json_number(&writer->json, "version", REPORT_DATA_VERSION);
        report_json_text(&writer->json, "title", title, REPORT_NAME_BYTES_MAX);
        report_json_number(&writer->json, "start", content->start_ns);
        report_json_number(&writer->json,
                           "duration",
                           (int64_t)((uint64_t)content->end_ns - (uint64_t)content->start_ns));
        report_json_number(&writer->json, "grain", content->grain_ns);
        put_wall_time(writer);
        put_view(writer, from_ns, to_ns);
        put_threads(writer);
        put_processes(writer);
        report_json_begin(&writer->json, "groups", '[');
        for (size_t i = 0; i < content->groups.n; i++)
                put_group(writer, &content->groups.groups[i]);
        report_json_end(&writer->json, ']');
        put_heaps(writer);
        put_stacks(writer);
        put_flows(writer);
        put_names(writer);
        report_json_number(&writer->json, "leftOut", (int64_t)writer->n_left_out);
        report_json_begin(&writer->json, "columns", '[');
        for (size_t i = 0; i < _COLUMN_N; i++)
                report_json_number(&writer->json, NULL, (int64_t)writer->columns[i].n);
        report_json_end(&writer->json, ']');
        report_json_end(&writer->json, '}');
}

static int join(Bytes *ret, Writer *writer) {
        const uint32_t n_head = (uint32_t)writer->json.bytes.n;
        const uint8_t length[] = { (uint8_t)n_head,
                                   (uint8_t)(n_head >> 8),
                                   (uint8_t)(n_head >> 16),
                                   (uint8_t)(n_head >> 24) };
        int r = writer->json.error ? writer->json.error : writer->error;

        if (r == 0)
                r = bytes_append(ret, length, sizeof(length));
        if (r == 0)
                r = bytes_append(ret, writer->json.bytes.data, writer->json.bytes.n);
        for (size_t i = 0; r == 0 && i < _COLUMN_N; i++)
                if (writer->columns[i].n > 0)
                        r = bytes_append(ret, writer->columns[i].data, writer->columns[i].n);
        return r;
}

static void link_tracks(Writer *writer) {
        const TraceTable *tracks = &writer->content->store->tables[TRACE_TABLE_TRACK];
        size_t n_threads = writer->content->store->tables[TRACE_TABLE_THREAD].n;

        memset(writer->first_track,
               0xff,
               n_threads * sizeof(*writer->first_track)); /* TRACE_NONE */
        for (uint32_t track = (uint32_t)tracks->n; track-- > 0;) {
                uint32_t utid = trace_table_get(tracks, TRACK_UTID, track);

                if (utid >= n_threads)
                        continue;
                writer->next_track[track] = writer->first_track[utid];
                writer->first_track[utid] = track;
        }
}

int report_data_make(Bytes *ret,
                     const ReportContent *content,
                     const char *title,
                     int64_t from_ns,
                     int64_t to_ns) {
        size_t n_texts = content->store->pool.n_texts + 1;
        Writer writer = {
                .content = content,
                .names = calloc(n_texts, sizeof(uint32_t)),
                .used = calloc(n_texts, sizeof(uint32_t)),
                .first_track =
                        calloc(content->store->tables[TRACE_TABLE_THREAD].n + 1, sizeof(uint32_t)),
                .next_track =
                        calloc(content->store->tables[TRACE_TABLE_TRACK].n + 1, sizeof(uint32_t)),
        };
        int r = report_stacks_init(&writer.stacks, content->store);

        if (r == 0)
                r = report_heaps_init(&writer.heaps, content->store);
        if (r == 0 && !(writer.names && writer.used && writer.first_track && writer.next_track))
                r = -ENOMEM;
        if (r == 0) {
                link_tracks(&writer);
                put_head(&writer, title, from_ns, to_ns);
                r = join(ret, &writer);
        }
        for (size_t i = 0; i < _COLUMN_N; i++)
                bytes_deinit(&writer.columns[i]);
        bytes_deinit(&writer.json.bytes);
        report_stacks_deinit(&writer.stacks);
        report_heaps_deinit(&writer.heaps);
        free(writer.names);
        free(writer.used);
        free(writer.first_track);
        free(writer.next_track);
        return r;
}
