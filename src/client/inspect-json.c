/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Inspect, for programs: the summary of a trace as one JSON object */

#include <string.h>

#include "client/inspect.h"
#include "config/config.h"
#include "trace/trace-names.h"

#define COMPARE_DESCENDING(x, y) ((x) > (y) ? -1 : (x) < (y))

#define DEFINE_COMPARE(name, type, member, tie)                                        \
        int inspect_compare_##name(gconstpointer a, gconstpointer b) {                 \
                const type *x = *(const type *const *)a, *y = *(const type *const *)b; \
                int order = COMPARE_DESCENDING(x->member, y->member);                  \
                                                                                       \
                return order ? order : (tie);                                          \
        }

DEFINE_COMPARE(threads, TraceThread, cpu_ns, COMPARE_DESCENDING(y->tid, x->tid))
DEFINE_COMPARE(processes, TraceProcess, cpu_ns, COMPARE_DESCENDING(y->pid, x->pid))
DEFINE_COMPARE(slices, TraceSlice, total_ns, strcmp(x->name, y->name))
DEFINE_COMPARE(producers, TraceProducer, n_bytes, COMPARE_DESCENDING(y->pid, x->pid))
DEFINE_COMPARE(counts, TraceNameCount, n, strcmp(x->name, y->name))

int inspect_compare_counters(gconstpointer a, gconstpointer b) {
        const TraceCounter *x = *(const TraceCounter *const *)a,
                           *y = *(const TraceCounter *const *)b;

        return strcmp(x->name, y->name);
}

char *inspect_config_text(const TraceSummary *summary) {
        _cleanup_(config_freep) Config *config = NULL;
        ConfigError error;
        char *text;

        if (!summary->config)
                return NULL;
        if (config_new_from_bytes(&config, summary->config->data, summary->config->len, &error))
                return NULL;
        return config_to_text(&text, config) ? NULL : text;
}

static void write_file(JsonWriter *writer, const TraceSummary *summary, const char *name) {
        json_string(writer, "file", name);
        json_uint(writer, "bytes", summary->n_bytes);
        json_uint(writer, "packets", summary->n_packets);
        json_string(writer, "end", trace_end_name(summary->end));
        json_uint(writer, "end_offset", summary->end_offset);
        json_uint(writer, "start_ns", summary->first_ns);
        json_uint(writer, "duration_ns", trace_summary_duration_ns(summary));
        json_uint(writer, "start_realtime_ns", trace_summary_start_realtime_ns(summary));
        json_uint(writer, "kernel_events_total", trace_summary_n_kernel_events(summary));
        json_uint(writer, "track_events_total", summary->n_track_events);
        json_uint(writer, "unmatched_slice_ends", summary->n_unmatched_ends);
        json_uint(writer, "misordered_events", summary->n_misordered);
        json_uint(writer, "undecodable_events", trace_summary_n_undecodable(summary));
        json_uint(writer, "forgotten_events", summary->n_forgotten);
        json_uint(writer, "omitted", summary->n_omitted);
}

static void write_system(JsonWriter *writer, const TraceSystem *system) {
        json_begin_object(writer, "system");
        json_string(writer, "sysname", system->sysname);
        json_string(writer, "release", system->release);
        json_string(writer, "version", system->version);
        json_string(writer, "machine", system->machine);
        json_uint(writer, "cpus", system->n_cpus);
        json_string(writer, "service_version", system->service_version);
        json_end_object(writer);
}

static void write_sources(JsonWriter *writer, const TraceSummary *summary) {
        json_begin_array(writer, "sources");
        for (size_t i = 0; i < trace_source_count(); i++) {
                const TraceSource *source = &summary->sources[i];

                if (source->n_packets == 0)
                        continue;
                json_begin_object(writer, NULL);
                json_string(writer, "kind", source->kind);
                json_string(writer, "data_source", source->data_source);
                json_uint(writer, "events", source->n_events);
                json_uint(writer, "packets", source->n_packets);
                json_uint(writer, "bytes", source->n_bytes);
                json_end_object(writer);
        }
        json_end_array(writer);
}

static void write_producer(JsonWriter *writer, const TraceSummary *summary, const void *item) {
        const TraceProducer *producer = item;

        json_int(writer, "pid", producer->pid);
        json_int(writer, "uid", producer->uid);
        json_string(writer, "name", trace_summary_process_name(summary, producer->pid));
        json_uint(writer, "packets", producer->n_packets);
        json_uint(writer, "bytes", producer->n_bytes);
        json_uint(writer, "sequences", producer->n_sequences);
        json_uint(writer, "losses", producer->n_losses);
}

static void write_count(JsonWriter *writer, const TraceSummary *summary, const void *item) {
        const TraceNameCount *count = item;

        json_string(writer, "name", count->name);
        json_uint(writer, "count", count->n);
}

static void write_process(JsonWriter *writer, const TraceSummary *summary, const void *item) {
        const TraceProcess *process = item;

        json_int(writer, "pid", process->pid);
        json_string(writer, "name", trace_summary_process_name(summary, process->pid));
        json_uint(writer, "cpu_ns", process->cpu_ns);
        json_uint(writer, "threads", process->n_threads);
        json_string(writer, "unit", process->unit);
        json_string(writer, "user_unit", process->user_unit);
        json_string(writer, "app_id", process->app_id);
        json_string(writer, "container", process->container);
}

static void write_thread(JsonWriter *writer, const TraceSummary *summary, const void *item) {
        const TraceThread *thread = item;

        json_int(writer, "tid", thread->tid);
        json_int(writer, "pid", thread->pid);
        json_string(writer, "name", thread->name);
        json_string(writer, "process", trace_summary_process_name(summary, thread->pid));
        json_uint(writer, "cpu_ns", thread->cpu_ns);
        json_uint(writer, "switches", thread->n_switches);
        json_uint(writer, "slices", thread->n_slices);
}

static void write_slice(JsonWriter *writer, const TraceSummary *summary, const void *item) {
        const TraceSlice *slice = item;

        json_string(writer, "name", slice->name);
        json_string(writer, "category", slice->category);
        json_uint(writer, "count", slice->n_slices);
        json_uint(writer, "open", slice->n_open);
        json_uint(writer, "instants", slice->n_instants);
        json_uint(writer, "total_ns", slice->total_ns);
        json_uint(writer, "max_ns", slice->max_ns);
}

static void write_counter(JsonWriter *writer, const TraceSummary *summary, const void *item) {
        const TraceCounter *counter = item;

        json_string(writer, "name", counter->name);
        json_string(writer, "unit", counter->unit);
        json_uint(writer, "count", counter->n_values);
        json_double(writer, "min", counter->min);
        json_double(writer, "max", counter->max);
        json_double(writer, "last", counter->last);
}

typedef struct InspectList {
        const char *key;
        size_t table; /* offset in TraceSummary */
        GCompareFunc compare;
        void (*write)(JsonWriter *writer, const TraceSummary *summary, const void *item);
} InspectList;

#define TABLE(member) offsetof(TraceSummary, member)

static const InspectList lists[] = {
        { "producers", TABLE(producers), inspect_compare_producers, write_producer },
        { "kernel_events", TABLE(kernel_events), inspect_compare_counts, write_count },
        { "processes", TABLE(processes), inspect_compare_processes, write_process },
        { "threads", TABLE(threads), inspect_compare_threads, write_thread },
        { "slices", TABLE(slices), inspect_compare_slices, write_slice },
        { "counters", TABLE(counters), inspect_compare_counters, write_counter },
};

static void write_list(JsonWriter *writer, const TraceSummary *summary, const InspectList *list) {
        GHashTable *table = *(GHashTable *const *)((const char *)summary + list->table);
        g_autoptr(GPtrArray) items = trace_summary_sorted(table, list->compare);

        json_begin_array(writer, list->key);
        for (guint i = 0; i < items->len; i++) {
                json_begin_object(writer, NULL);
                list->write(writer, summary, g_ptr_array_index(items, i));
                json_end_object(writer);
        }
        json_end_array(writer);
}

static void write_clocks(JsonWriter *writer, const TraceSummary *summary) {
        json_begin_array(writer, "clocks");
        for (size_t i = 0; i < summary->n_clocks; i++) {
                json_begin_object(writer, NULL);
                json_uint(writer, "id", summary->clocks[i].id);
                json_string(writer, "name", trace_clock_name(summary->clocks[i].id));
                json_uint(writer, "snapshots", summary->clocks[i].n_snapshots);
                json_uint(writer, "first_ns", summary->clocks[i].first_ns);
                json_uint(writer, "last_ns", summary->clocks[i].last_ns);
                json_end_object(writer);
        }
        json_end_array(writer);
}

static void write_losses(JsonWriter *writer, const TraceSummary *summary) {
        json_begin_object(writer, "losses");
        json_string(writer, "verdict", trace_verdict_name(summary->verdict));
        json_uint(writer, "overwritten_chunks", summary->n_overwritten);
        json_uint(writer, "left_out", summary->n_left_out);
        json_begin_array(writer, "found");
        for (guint i = 0; i < summary->losses->len; i++) {
                const TraceLoss *loss = &g_array_index(summary->losses, TraceLoss, i);

                json_begin_object(writer, NULL);
                json_string(writer, "kind", loss->kind);
                json_uint(writer, "count", loss->n);
                json_end_object(writer);
        }
        json_end_array(writer);
        json_begin_array(writer, "doubts");
        for (guint i = 0; i < summary->doubts->len; i++)
                json_string(writer, NULL, g_ptr_array_index(summary->doubts, i));
        json_end_array(writer);
        json_end_object(writer);
}

static void write_away(JsonWriter *writer, const GArray *away) {
        json_begin_array(writer, "away");
        for (guint i = 0; i < away->len; i++) {
                const TraceAway *one = &g_array_index(away, TraceAway, i);

                json_begin_object(writer, NULL);
                json_uint(writer, "from_ns", one->from_ns);
                json_uint(writer, "until_ns", one->until_ns);
                json_uint(writer, "packets_lost", one->n_lost);
                json_end_object(writer);
        }
        json_end_array(writer);
}

void inspect_write_json(JsonWriter *writer, const TraceSummary *summary, const char *name) {
        _cleanup_(freep) char *config = inspect_config_text(summary);
        g_autofree char *uuid =
                g_strdup_printf("%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x",
                                summary->trace_uuid[0],
                                summary->trace_uuid[1]);

        write_file(writer, summary, name);
        json_string(writer, "uuid", summary->trace_uuid[0] | summary->trace_uuid[1] ? uuid : NULL);
        write_system(writer, &summary->system);
        write_sources(writer, summary);
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                write_list(writer, summary, &lists[i]);
        write_clocks(writer, summary);
        write_losses(writer, summary);
        json_begin_array(writer, "notes");
        for (guint i = 0; i < summary->notes->len; i++)
                json_string(writer, NULL, g_ptr_array_index(summary->notes, i));
        json_end_array(writer);
        write_away(writer, summary->away);
        json_string(writer, "config", config);
}
