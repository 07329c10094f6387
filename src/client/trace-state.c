/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace state: what has to be remembered while a trace file is read */

#include <string.h>

#include "client/say.h"
#include "client/trace-state.h"

bool trace_state_may_grow(TraceSummary *summary) {
        if (summary->state->n_entries >= TRACE_SUMMARY_ENTRIES_MAX) {
                summary->n_omitted++;
                return false;
        }
        summary->state->n_entries++;
        return true;
}

/* Number 0 stands for everything that found no room. */
uint32_t trace_state_add_name(void *user_data, const void *data, size_t n) {
        TraceSummary *summary = user_data;
        struct TraceState *state = summary->state;
        g_autofree char *name = say_clean(data, MIN(n, (size_t)TRACE_NAME_BYTES_MAX));
        gpointer number;

        if (g_hash_table_lookup_extended(state->names, name, NULL, &number))
                return GPOINTER_TO_UINT(number);
        if (state->n_name_bytes + strlen(name) > TRACE_SUMMARY_NAMES_MAX) {
                summary->n_omitted++;
                return 0;
        }
        state->n_name_bytes += strlen(name) + 1;
        g_ptr_array_add(state->numbered, name);
        number = GUINT_TO_POINTER(state->numbered->len - 1);
        g_hash_table_insert(state->names, g_steal_pointer(&name), number);
        return GPOINTER_TO_UINT(number);
}

const char *trace_state_name(TraceSummary *summary, const void *data, size_t n) {
        return trace_state_numbered_name(summary, trace_state_add_name(summary, data, n));
}

TraceThread *trace_state_thread(TraceSummary *summary, int32_t tid) {
        TraceThread *thread = g_hash_table_lookup(summary->threads, &tid);

        if (thread || !trace_state_may_grow(summary))
                return thread;
        thread = g_new0(TraceThread, 1);
        thread->tid = tid;
        g_hash_table_insert(summary->threads, &thread->tid, thread);
        return thread;
}

TraceProcess *trace_state_process(TraceSummary *summary, int32_t pid) {
        TraceProcess *process = g_hash_table_lookup(summary->processes, &pid);

        if (process || !trace_state_may_grow(summary))
                return process;
        process = g_new0(TraceProcess, 1);
        process->pid = pid;
        g_hash_table_insert(summary->processes, &process->pid, process);
        return process;
}

void trace_thread_set_name(TraceThread *thread, const char *name, uint8_t rank) {
        if (rank < thread->name_rank || !*name)
                return;
        thread->name = name;
        thread->name_rank = rank;
}

void trace_process_set_name(TraceProcess *process, const char *name, uint8_t rank) {
        if (rank < process->name_rank || !*name)
                return;
        process->name = name;
        process->name_rank = rank;
}

TraceCounter *trace_state_counter(TraceSummary *summary, const char *name, const char *unit) {
        TraceCounter *counter = g_hash_table_lookup(summary->counters, name);

        if (counter || !trace_state_may_grow(summary))
                return counter;
        counter = g_new0(TraceCounter, 1);
        counter->name = name;
        counter->unit = unit;
        g_hash_table_insert(summary->counters, (gpointer)name, counter);
        return counter;
}

void trace_counter_add(TraceCounter *counter, double value) {
        if (counter->n_values == 0 || value < counter->min)
                counter->min = value;
        if (counter->n_values == 0 || value > counter->max)
                counter->max = value;
        counter->last = value;
        counter->n_values++;
}

void trace_state_count_name(TraceSummary *summary,
                            GHashTable *table,
                            const char *name,
                            uint64_t n) {
        TraceNameCount *count = g_hash_table_lookup(table, name);

        if (!count && trace_state_may_grow(summary)) {
                count = g_new0(TraceNameCount, 1);
                count->name = name;
                g_hash_table_insert(table, (gpointer)name, count);
        }
        if (count)
                count->n += n;
}

void trace_state_saw_time(TraceSummary *summary, uint64_t ns) {
        if (ns == 0)
                return;
        if (summary->first_ns == 0 || ns < summary->first_ns)
                summary->first_ns = ns;
        if (ns > summary->last_ns)
                summary->last_ns = ns;
        if (!summary->state->in_service_packet &&
            (summary->first_data_ns == 0 || ns < summary->first_data_ns))
                summary->first_data_ns = ns;
}
