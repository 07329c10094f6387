/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Switches and wakings in columns
 *
 * They are by far the most events of a recording, in few bytes each, so they stay as they are until the second pass
 * takes them apart. Only where their times have to be converted is each of them queued in the first one.
 *
 * In the second pass this runs in a thread of its own, so it must not touch anything but ImportCompact. The numbers of
 * names are therefore found in the first pass.
 */

#include <string.h>

#include "trace/import-kernel.h"
#include "trace/import.h"
#include "trace/trace-bundle.h"

/* The packed events of one CPU. */
typedef struct ImportCompact {
        TraceCompactSched columns;
        TraceEntry next_switch, next_waking;
        bool has_switch, has_waking;
        uint32_t comms[TRACE_COMPACT_COMMS_MAX];
        /* The names of all bundles that are still packed, in the order of the bundles. */
        uint32_t *later;
        size_t n_later, n_later_allocated, later_at;
} ImportCompact;

static inline bool take_switch(ImportCompact *compact, TraceEntry *ret) {
        TraceCompactSwitch event;

        if (!trace_compact_switch(&compact->columns, &event))
                return false;
        *ret = (TraceEntry){
                .at_ns = event.at_ns,
                .kind = IMPORT_SWITCH,
                .a = (uint32_t)event.next_tid,
                .b = event.comm == UINT32_MAX ? 0 : compact->comms[event.comm],
                .c = event.prev_state,
                .small = event.next_prio,
        };
        return true;
}

static inline bool take_waking(ImportCompact *compact, TraceEntry *ret) {
        TraceCompactWaking event;

        if (!trace_compact_waking(&compact->columns, &event))
                return false;
        *ret = (TraceEntry){
                .at_ns = event.at_ns,
                .kind = IMPORT_WAKING,
                .a = (uint32_t)event.tid,
                .flags = event.flags,
        };
        return true;
}

static bool wants_wakings(const TraceImport *import) {
        return import_wants(import, TRACE_PART_STATES | TRACE_PART_KERNEL);
}

/* The names have been set. */
static void compact_begin(ImportCompact *compact, bool has_wakings) {
        if (!has_wakings)
                return;
        compact->has_switch = take_switch(compact, &compact->next_switch);
        compact->has_waking = take_waking(compact, &compact->next_waking);
}

/* Whether the next event is a switch. */
static bool is_switch_next(const ImportCompact *compact) {
        return compact->has_switch &&
               (!compact->has_waking || compact->next_switch.at_ns <= compact->next_waking.at_ns);
}

/* Both kinds in order of time. */
static bool compact_next(ImportCompact *compact, TraceEntry *ret) {
        if (is_switch_next(compact)) {
                *ret = compact->next_switch;
                compact->has_switch = take_switch(compact, &compact->next_switch);
                return true;
        }
        if (!compact->has_waking)
                return false;
        *ret = compact->next_waking;
        compact->has_waking = take_waking(compact, &compact->next_waking);
        return true;
}

static void compact_free(ImportCompact *compact) {
        if (compact)
                free(compact->later);
        free(compact);
}

void import_compact_free(TraceImport *import) {
        for (size_t cpu = 0; cpu < TRACE_CPUS_MAX; cpu++)
                compact_free(import->compact[cpu]);
        compact_free(import->direct);
}

static size_t
compact_take(ImportCompact *compact, bool has_wakings, TraceEntry *ret, size_t n_max) {
        size_t n = 0;

        if (has_wakings)
                while (n < n_max && compact_next(compact, &ret[n]))
                        n++;
        else
                while (n < n_max && take_switch(compact, &ret[n]))
                        n++;
        return n;
}

size_t import_unpack(void *user_data,
                     uint64_t rank,
                     const void *data,
                     size_t n_data,
                     bool is_first,
                     TraceEntry *ret,
                     size_t n_max) {
        const WireField bytes = { .type = WIRE_BYTES, .data = data, .n_bytes = n_data };
        const TraceImport *import = user_data;
        ImportCompact *compact = import->compact[rank - IMPORT_CPU_RANK];

        if (is_first) {
                trace_compact_init(&compact->columns, &bytes);
                if (compact->columns.n_comms)
                        memcpy(compact->comms,
                               compact->later + compact->later_at,
                               compact->columns.n_comms * sizeof(*compact->comms));
                compact->later_at += compact->columns.n_comms;
                compact_begin(compact, wants_wakings(import));
        }
        return compact_take(compact, wants_wakings(import), ret, n_max);
}

/*
 * First pass
 */

typedef struct Span {
        uint64_t first_ns, last_ns;
        bool is_empty, is_in_order;
} Span;

/* Adds up the times of a column. */
static Span column_span(TraceCompactSched *columns, uint32_t times, uint32_t tids) {
        const WireReader *tid = &columns->columns[tids];
        Span span = { .is_in_order = true };
        uint64_t step;

        span.is_empty = tid->at == tid->end || !trace_compact_next(columns, times, &span.first_ns);
        span.last_ns = span.first_ns;
        while (!span.is_empty && trace_compact_next(columns, times, &step)) {
                span.is_in_order &= step <= UINT64_MAX - span.last_ns;
                span.last_ns += step;
        }
        return span;
}

static Span span_join(Span x, Span y) {
        if (x.is_empty || y.is_empty)
                return x.is_empty ? y : x;
        return (Span){ .first_ns = MIN(x.first_ns, y.first_ns),
                       .last_ns = MAX(x.last_ns, y.last_ns),
                       .is_in_order = x.is_in_order && y.is_in_order };
}

/* Used where wakings only have to make threads known. A waking before the first switch has no waker and is ignored. */
static void note_woken(TraceImport *import, TraceCompactSched *columns, uint64_t first_switch_ns) {
        TraceCompactWaking event;

        while (trace_compact_waking(columns, &event))
                if (event.at_ns >= first_switch_ns &&
                    trace_map_find(&import->woken, (uint32_t)event.tid) == TRACE_MAP_NONE &&
                    trace_map_set(&import->woken, (uint32_t)event.tid, 0))
                        import->ran_out = true;
}

void import_finish_woken(TraceImport *import) {
        uint64_t tid, value;

        for (size_t i = 0; trace_map_next(&import->woken, &i, &tid, &value);)
                if (trace_map_find(&import->threads.tids, tid) == TRACE_MAP_NONE)
                        trace_threads_get(&import->threads, (int32_t)tid);
}

/* The times of all events that are wanted. */
static Span compact_span(TraceImport *import, size_t cpu, TraceCompactSched *columns) {
        uint64_t first_ns;
        Span span;

        span = column_span(columns, TRACE_COMPACT_SWITCH_TIMESTAMP, TRACE_COMPACT_SWITCH_NEXT_PID);
        first_ns = import->has_switch[cpu] ? 0 : span.is_empty ? UINT64_MAX : span.first_ns;
        import->has_switch[cpu] |= !span.is_empty;
        import->has_switches |= !span.is_empty;
        if (wants_wakings(import))
                span = span_join(span,
                                 column_span(columns,
                                             TRACE_COMPACT_WAKING_TIMESTAMP,
                                             TRACE_COMPACT_WAKING_PID));
        else if (import_wants(import, TRACE_PART_THREADS))
                note_woken(import, columns, first_ns);
        return span;
}

/* The others of the bundle that are earlier than this. Where times are equal, switches and wakings come first. */
static size_t queue_others(TraceImport *import, size_t lane, size_t i, uint64_t until_ns) {
        while (i < import->n_others && import->others[i].at_ns < until_ns)
                import_queue(import, lane, &import->others[i++]);
        return i;
}

static ImportCompact *compact_make(TraceImport *import, ImportCompact **compact) {
        if (!*compact)
                *compact = calloc(1, sizeof(**compact));
        if (!*compact)
                import->ran_out = true;
        return *compact;
}

static void find_names(TraceImport *import, const TraceCompactSched *columns, uint32_t *ret) {
        for (size_t i = 0; i < columns->n_comms; i++)
                ret[i] = trace_pool_add(
                        &import->store->pool, columns->comms[i].data, columns->comms[i].n);
}

static size_t queue_each(TraceImport *import, size_t lane, const WireField *bytes) {
        ImportCompact *compact = compact_make(import, &import->direct);
        TraceEntry entries[64];
        size_t i = 0, n;

        if (!compact)
                return 0;
        trace_compact_init(&compact->columns, bytes);
        find_names(import, &compact->columns, compact->comms);
        compact_begin(compact, wants_wakings(import));
        while ((n = compact_take(compact, wants_wakings(import), entries, ARRAY_SIZE(entries))))
                for (size_t k = 0; k < n; k++)
                        if (import_kernel_time(import, &entries[k].at_ns)) {
                                i = queue_others(import, lane, i, entries[k].at_ns);
                                import_queue(import, lane, &entries[k]);
                        }
        return i;
}

static void queue_packed(TraceImport *import,
                         size_t cpu,
                         size_t lane,
                         const WireField *bytes,
                         const TraceCompactSched *columns,
                         Span span) {
        ImportCompact *compact = compact_make(import, &import->compact[cpu]);

        if (!compact)
                return;
        if (trace_reserve((void **)&compact->later,
                          &compact->n_later_allocated,
                          compact->n_later + columns->n_comms,
                          sizeof(*compact->later))) {
                import->ran_out = true;
                return;
        }
        find_names(import, columns, compact->later + compact->n_later);
        compact->n_later += columns->n_comms;
        import->n_bytes_later += columns->n_comms * sizeof(*compact->later);
        import_queue_packed(import, lane, bytes, span.first_ns, span.last_ns);
}

void import_bundle_end(TraceImport *import, size_t cpu, size_t lane, const WireField *compact) {
        Span span = { .is_empty = true };
        TraceCompactSched columns;
        size_t i = 0;

        if (compact->type == WIRE_BYTES) {
                trace_compact_init(&columns, compact);
                span = compact_span(import, cpu, &columns);
        }
        if (!span.is_empty && span.is_in_order && import->n_others == 0 &&
            trace_clocks_trace_time(import->clocks) == TRACE_CLOCK_BOOTTIME)
                queue_packed(import, cpu, lane, compact, &columns, span);
        else if (!span.is_empty)
                i = queue_each(import, lane, compact);
        for (; i < import->n_others; i++)
                import_queue(import, lane, &import->others[i]);
        import->n_others = 0;
}
