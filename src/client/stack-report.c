/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Stack report: where the samples of a trace are */

#include "client/stack-report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shared/macro.h"
#include "trace/trace-import.h"
#include "trace/trace-stack-text.h"

/* How the probes end a stack that goes on where they could not follow. */
#define CUT_MODULE "[truncated]"

/* How many samples of an owner are in a function. */
typedef struct OwnCount {
        StackOwner *owner;
        const StackFunction *function;
        uint64_t n;
} OwnCount;

/* A sample, whichever table it is in. */
typedef struct StackSample {
        uint32_t utid;
        uint32_t callsite;
        const char *why; /* it is not complete; or NULL */
        uint64_t weight;
} StackSample;

typedef struct Counting {
        StackReport *report;
        GHashTable *functions; /* "module\nname" → StackFunction */
        GHashTable *processes; /* upid → StackOwner */
        GHashTable *threads;   /* utid → StackOwner */
        GHashTable *gaps;      /* "module\nwhy" → StackGap */
        GHashTable *own;       /* set of OwnCount */
        uint64_t *n_self;      /* by callsite */
} Counting;

static const char *
text_of(const StackReport *report, TraceTableId id, unsigned column, uint32_t row) {
        return trace_pool_text(&report->store->pool,
                               trace_table_get(&report->store->tables[id], column, row));
}

static uint32_t get(const StackReport *report, TraceTableId id, unsigned column, uint32_t row) {
        return trace_table_get(&report->store->tables[id], column, row);
}

static size_t count(const StackReport *report, TraceTableId id) {
        return report->store->tables[id].n;
}

/*
 * Frames
 */

static const char *frame_module(const StackReport *report, uint32_t frame) {
        return trace_pool_text(&report->store->pool, trace_frame_file(report->store, frame));
}

/* Returns NULL if the frame has no name. */
static const char *frame_name(const StackReport *report, uint32_t frame) {
        return trace_pool_text(&report->store->pool, trace_frame_name(report->store, frame));
}

static void function_free(void *data) {
        StackFunction *function = data;

        g_free(function->name);
        g_free(function->module);
        g_free(function);
}

static StackFunction *function_of(const Counting *counting, uint32_t frame) {
        const char *module = trace_file_base_name(frame_module(counting->report, frame));
        const char *name = frame_name(counting->report, frame);
        g_autofree char *key = g_strdup_printf("%s\n%s", module ?: "", name ?: "");
        StackFunction *function = g_hash_table_lookup(counting->functions, key);

        if (function)
                return function;
        function = g_new0(StackFunction, 1);
        function->name = g_strdup(name);
        function->module = g_strdup(module);
        g_hash_table_insert(counting->functions, g_steal_pointer(&key), function);
        g_ptr_array_add(counting->report->functions, function);
        return function;
}

/* One that only says that a stack is cut. */
static bool is_cut(const StackFunction *function) {
        return function->module && streq(function->module, CUT_MODULE);
}

/* Outermost functions are not known where a stack is cut; then the next one in is the last that is. */
static uint32_t known_end(const StackReport *report, uint32_t callsite) {
        uint32_t end = TRACE_NONE;

        for (; callsite != TRACE_NONE;
             callsite = get(report, TRACE_TABLE_CALLSITE, CALLSITE_PARENT, callsite)) {
                const uint32_t frame = get(report, TRACE_TABLE_CALLSITE, CALLSITE_FRAME, callsite);

                if (!is_cut(report->by_frame[frame]))
                        end = frame;
        }
        return end;
}

/*
 * Samples
 */

static StackOwner *owner_of(GHashTable *owners, GPtrArray *list, uint32_t row) {
        StackOwner *owner = g_hash_table_lookup(owners, GUINT_TO_POINTER(row));

        if (owner)
                return owner;
        owner = g_new0(StackOwner, 1);
        g_hash_table_insert(owners, GUINT_TO_POINTER(row), owner);
        g_ptr_array_add(list, owner);
        return owner;
}

static StackOwner *process_of(const Counting *counting, uint32_t upid) {
        StackReport *report = counting->report;
        StackOwner *owner = owner_of(counting->processes, report->processes, upid);

        owner->id = (int32_t)get(report, TRACE_TABLE_PROCESS, PROCESS_PID, upid);
        owner->name = text_of(report, TRACE_TABLE_PROCESS, PROCESS_NAME, upid);
        return owner;
}

static StackOwner *thread_of(const Counting *counting, uint32_t utid, uint32_t upid) {
        StackReport *report = counting->report;
        StackOwner *owner = owner_of(counting->threads, report->threads, utid);

        owner->id = (int32_t)get(report, TRACE_TABLE_THREAD, THREAD_TID, utid);
        owner->name = text_of(report, TRACE_TABLE_THREAD, THREAD_NAME, utid);
        if (upid != TRACE_NONE)
                owner->process = text_of(report, TRACE_TABLE_PROCESS, PROCESS_NAME, upid);
        return owner;
}

static void count_gap(const Counting *counting, uint32_t callsite, const char *why) {
        StackReport *report = counting->report;
        const uint32_t end = known_end(report, callsite);
        const char *module = end == TRACE_NONE ? NULL : frame_module(report, end);
        g_autofree char *key = g_strdup_printf("%s\n%s", module ?: "", why);
        StackGap *gap = g_hash_table_lookup(counting->gaps, key);

        if (!gap) {
                gap = g_new0(StackGap, 1);
                gap->module = module;
                gap->why = why;
                g_hash_table_insert(counting->gaps, g_steal_pointer(&key), gap);
                g_ptr_array_add(report->gaps, gap);
        }
        gap->n++;
}

static bool is_of_recording(const StackOwner *process) {
        return process->name &&
               (g_str_has_prefix(trace_file_base_name(process->name), "desktrace-probe") ||
                streq(trace_file_base_name(process->name), "desktraced"));
}

static guint own_hash(gconstpointer item) {
        const OwnCount *own = item;

        return g_direct_hash(own->owner) * 31 + g_direct_hash(own->function);
}

static gboolean own_equal(gconstpointer left, gconstpointer right) {
        const OwnCount *x = left, *y = right;

        return x->owner == y->owner && x->function == y->function;
}

static void count_own(const Counting *counting,
                      StackOwner *owner,
                      const StackFunction *function,
                      uint64_t weight) {
        const OwnCount wanted = { owner, function, 0 };
        OwnCount *own = g_hash_table_lookup(counting->own, &wanted);

        if (!own) {
                own = g_memdup2(&wanted, sizeof(wanted));
                g_hash_table_add(counting->own, own);
        }
        own->n += weight;
        if (own->n > owner->n_hottest) {
                owner->hottest = function;
                owner->n_hottest = own->n;
        }
}

static void count_owner(const Counting *counting, StackOwner *owner, const StackSample *sample) {
        const StackReport *report = counting->report;

        owner->weight += sample->weight;
        owner->n_incomplete += sample->why != NULL;
        if (sample->callsite != TRACE_NONE)
                count_own(counting,
                          owner,
                          report->by_frame[get(
                                  report, TRACE_TABLE_CALLSITE, CALLSITE_FRAME, sample->callsite)],
                          sample->weight);
}

static void count_owners(const Counting *counting, const StackSample *sample) {
        const uint32_t upid = get(counting->report, TRACE_TABLE_THREAD, THREAD_UPID, sample->utid);
        StackOwner *process;

        count_owner(counting, thread_of(counting, sample->utid, upid), sample);
        if (upid == TRACE_NONE)
                return;
        process = process_of(counting, upid);
        count_owner(counting, process, sample);
        counting->report->n_recording += is_of_recording(process);
}

static void count_sample(const Counting *counting, const StackSample *sample) {
        StackReport *report = counting->report;

        report->n_samples++;
        report->weight += sample->weight;
        report->n_complete += !sample->why;
        if (sample->utid != TRACE_NONE)
                count_owners(counting, sample);
        if (sample->why)
                count_gap(counting, sample->callsite, sample->why);
        if (sample->callsite != TRACE_NONE)
                counting->n_self[sample->callsite] += sample->weight;
}

static void count_plain(const Counting *counting) {
        const StackReport *report = counting->report;

        for (uint32_t row = 0; row < count(report, TRACE_TABLE_SAMPLE); row++)
                count_sample(counting,
                             &(StackSample){
                                     get(report, TRACE_TABLE_SAMPLE, PERF_UTID, row),
                                     get(report, TRACE_TABLE_SAMPLE, PERF_CALLSITE, row),
                                     text_of(report, TRACE_TABLE_SAMPLE, PERF_ERROR, row),
                                     1,
                             });
}

static void count_weighed(const Counting *counting) {
        const StackReport *report = counting->report;
        const TraceTable *table = &report->store->tables[TRACE_TABLE_STACK_SAMPLE];

        for (uint32_t row = 0; row < table->n; row++)
                if (streq(text_of(report, TRACE_TABLE_STACK_SAMPLE, WEIGHED_SOURCE, row) ?: "",
                          report->source))
                        count_sample(counting,
                                     &(StackSample){
                                             trace_table_get(table, WEIGHED_UTID, row),
                                             trace_table_get(table, WEIGHED_CALLSITE, row),
                                             text_of(report,
                                                     TRACE_TABLE_STACK_SAMPLE,
                                                     WEIGHED_ERROR,
                                                     row),
                                             (uint64_t)trace_table_i64(table, WEIGHED_WEIGHT, row),
                                     });
}

/*
 * Functions
 */

/* Once for each function, however often it is on the way out. */
static void count_path(const Counting *counting, uint32_t leaf, uint32_t turn) {
        StackReport *report = counting->report;
        const StackPath path = { leaf, counting->n_self[leaf] };

        g_array_append_val(report->paths, path);
        report->by_frame[get(report, TRACE_TABLE_CALLSITE, CALLSITE_FRAME, leaf)]->n_self += path.n;
        for (uint32_t at = leaf; at != TRACE_NONE;
             at = get(report, TRACE_TABLE_CALLSITE, CALLSITE_PARENT, at)) {
                StackFunction *function =
                        report->by_frame[get(report, TRACE_TABLE_CALLSITE, CALLSITE_FRAME, at)];

                if (function->turn != turn)
                        function->n_total += path.n;
                function->turn = turn;
        }
}

static void count_all(Counting *counting) {
        StackReport *report = counting->report;
        uint32_t turn = 0;

        for (uint32_t row = 0; row < count(report, TRACE_TABLE_FRAME); row++)
                report->by_frame[row] = function_of(counting, row);
        if (report->source)
                count_weighed(counting);
        else
                count_plain(counting);
        for (uint32_t row = 0; row < count(report, TRACE_TABLE_CALLSITE); row++)
                if (counting->n_self[row] > 0)
                        count_path(counting, row, ++turn);
}

/*
 * The report
 */

static int compare_numbers(uint64_t x, uint64_t y) {
        return x > y ? -1 : x < y;
}

static int compare_functions(gconstpointer left, gconstpointer right) {
        const StackFunction *x = *(StackFunction *const *)left, *y = *(StackFunction *const *)right;
        const int r = compare_numbers(x->n_self, y->n_self);

        return r ? r : compare_numbers(x->n_total, y->n_total);
}

static int compare_owners(gconstpointer left, gconstpointer right) {
        const StackOwner *x = *(StackOwner *const *)left, *y = *(StackOwner *const *)right;
        const int r = compare_numbers(x->weight, y->weight);

        return r ? r : (x->id > y->id) - (x->id < y->id);
}

static int compare_gaps(gconstpointer left, gconstpointer right) {
        const StackGap *x = *(StackGap *const *)left, *y = *(StackGap *const *)right;

        return compare_numbers(x->n, y->n);
}

static int compare_paths(gconstpointer left, gconstpointer right) {
        const StackPath *x = left, *y = right;
        const int r = compare_numbers(x->n, y->n);

        return r ? r : (x->callsite > y->callsite) - (x->callsite < y->callsite);
}

static void count_lost(StackReport *report) {
        const TraceTable *table = &report->store->tables[TRACE_TABLE_STAT];

        for (uint32_t row = 0; row < table->n; row++)
                if (streq(text_of(report, TRACE_TABLE_STAT, STAT_NAME, row),
                          "perf_cpu_lost_records"))
                        report->n_lost += (uint64_t)trace_table_i64(table, STAT_VALUE, row);
}

static void fill(StackReport *report) {
        Counting counting = {
                .report = report,
                .functions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                .processes = g_hash_table_new(NULL, NULL),
                .threads = g_hash_table_new(NULL, NULL),
                .gaps = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                .own = g_hash_table_new_full(own_hash, own_equal, g_free, NULL),
                .n_self = g_new0(uint64_t, count(report, TRACE_TABLE_CALLSITE) + 1),
        };

        count_all(&counting);
        count_lost(report);
        g_ptr_array_sort(report->functions, compare_functions);
        g_ptr_array_sort(report->processes, compare_owners);
        g_ptr_array_sort(report->threads, compare_owners);
        g_ptr_array_sort(report->gaps, compare_gaps);
        g_array_sort(report->paths, compare_paths);
        g_hash_table_unref(counting.functions);
        g_hash_table_unref(counting.processes);
        g_hash_table_unref(counting.threads);
        g_hash_table_unref(counting.gaps);
        g_hash_table_unref(counting.own);
        g_free(counting.n_self);
}

static StackReport *report_new(TraceStore *store, const char *source, const char *unit) {
        StackReport *report = g_new0(StackReport, 1);

        report->store = store;
        report->source = source;
        report->unit = unit;
        report->functions = g_ptr_array_new_with_free_func(function_free);
        report->processes = g_ptr_array_new_with_free_func(g_free);
        report->threads = g_ptr_array_new_with_free_func(g_free);
        report->gaps = g_ptr_array_new_with_free_func(g_free);
        report->paths = g_array_new(FALSE, FALSE, sizeof(StackPath));
        report->by_frame = g_new0(StackFunction *, count(report, TRACE_TABLE_FRAME) + 1);
        fill(report);
        return report;
}

static bool has_source(const StackReport *report, const char *source) {
        for (; report; report = report->next)
                if (report->source && streq(report->source, source))
                        return true;
        return false;
}

/* A report for each source of samples with weights, behind the first. */
static void add_sources(StackReport *report) {
        StackReport *last = report;
        size_t n = 0;

        for (uint32_t row = 0;
             row < count(report, TRACE_TABLE_STACK_SAMPLE) && n < STACK_REPORT_SOURCES_MAX;
             row++) {
                const char *source =
                        text_of(report, TRACE_TABLE_STACK_SAMPLE, WEIGHED_SOURCE, row) ?: "";

                if (has_source(report, source))
                        continue;
                last->next = report_new(report->store,
                                        source,
                                        text_of(report, TRACE_TABLE_STACK_SAMPLE, WEIGHED_UNIT, row)
                                                ?: "");
                last = last->next;
                n++;
        }
}

int stack_report_read(StackReport **ret, int fd) {
        _cleanup_(trace_store_freep) TraceStore *store = NULL;
        int r;

        *ret = NULL;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        r = trace_import(&store, fd, TRACE_PART_STACKS | TRACE_PART_THREADS, STACK_REPORT_MEMORY);
        if (r < 0 || (store->tables[TRACE_TABLE_SAMPLE].n == 0 &&
                      store->tables[TRACE_TABLE_STACK_SAMPLE].n == 0))
                return r;
        *ret = report_new(TAKE(store), NULL, NULL);
        add_sources(*ret);
        return 0;
}

static void report_free(StackReport *report) {
        g_ptr_array_unref(report->functions);
        g_ptr_array_unref(report->processes);
        g_ptr_array_unref(report->threads);
        g_ptr_array_unref(report->gaps);
        g_array_unref(report->paths);
        g_free(report->by_frame);
        g_free(report);
}

StackReport *stack_report_free(StackReport *report) {
        TraceStore *store = report ? report->store : NULL;

        while (report) {
                StackReport *next = report->next;

                report_free(report);
                report = next;
        }
        trace_store_free(store);
        return NULL;
}

char *stack_report_path(const StackReport *report, uint32_t callsite, size_t n_frames_max) {
        return trace_stack_text(report->store, callsite, n_frames_max, report->source != NULL);
}
