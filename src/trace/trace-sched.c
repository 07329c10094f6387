/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace sched: who ran where, and what each thread did in between */

#include "trace/trace-sched.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define N_END_STATES (UINT16_MAX + 1)

#define STATE_UNKNOWN 0xff

#define IRQ_FLAGS 0x18 /* bits of common_flags: in an interrupt handler, hard or soft */

/* Rows of thread_state. */
typedef struct ThreadRows {
        uint32_t last, last_blocked;
} ThreadRows;

typedef struct StateLetter {
        uint16_t bit;
        char letter;
} StateLetter;

static const StateLetter letters[] = { { 1, 'S' },  { 2, 'D' },  { 4, 'T' },  { 8, 't' },
                                       { 16, 'X' }, { 32, 'Z' }, { 64, 'P' }, { 128, 'I' } };
static const StateLetter old_letters[] = { { 1, 'S' },   { 2, 'D' },   { 4, 'T' },   { 8, 't' },
                                           { 16, 'Z' },  { 32, 'X' },  { 64, 'x' },  { 128, 'K' },
                                           { 256, 'W' }, { 512, 'P' }, { 1024, 'N' } };

int trace_sched_init(TraceSched *sched, TraceStore *store, TraceThreads *threads) {
        sched->store = store;
        sched->threads = threads;
        sched->is_old_kernel = true;
        for (size_t i = 0; i < TRACE_CPUS_MAX; i++) {
                sched->cpus[i].utid = TRACE_NONE;
                sched->cpus[i].row = TRACE_NONE;
        }
        sched->end_states = malloc(N_END_STATES);
        if (!sched->end_states)
                return -ENOMEM;
        memset(sched->end_states, STATE_UNKNOWN, N_END_STATES);
        return 0;
}

void trace_sched_deinit(TraceSched *sched) {
        free(sched->end_states);
        free(sched->rows);
        *sched = (TraceSched){ 0 };
}

void trace_sched_set_kernel(TraceSched *sched, const char *release) {
        unsigned major, minor;

        if (!release || sscanf(release, "%u.%u", &major, &minor) != 2)
                return;
        sched->is_old_kernel = major < 4 || (major == 4 && minor < 14);
        memset(sched->end_states, STATE_UNKNOWN, N_END_STATES);
}

/* The letters of /proc/PID/stat, one for each bit; "" if no bit is set. */
static size_t state_text(const TraceSched *sched, uint16_t bits, char *text) {
        const StateLetter *all = sched->is_old_kernel ? old_letters : letters;
        size_t n_all = sched->is_old_kernel ? ARRAY_SIZE(old_letters) : ARRAY_SIZE(letters), n = 0;
        uint16_t preempted = sched->is_old_kernel ? 0x800 : 0x100;

        if ((bits & ~preempted) == 0) {
                memcpy(text, "R+", 2);
                return bits & preempted ? 2 : 1;
        }
        for (size_t i = 0; i < n_all; i++)
                if (bits & all[i].bit) {
                        text[n++] = all[i].letter;
                        bits &= (uint16_t)~all[i].bit;
                }
        if (bits & preempted && n > 0)
                text[n++] = '+';
        return bits & ~preempted ? 0 : n;
}

static uint8_t sched_end_state(TraceSched *sched, uint16_t bits) {
        char text[ARRAY_SIZE(old_letters) + 1];
        size_t n;

        if (LIKELY(sched->end_states[bits] != STATE_UNKNOWN))
                return sched->end_states[bits];
        n = state_text(sched, bits, text);
        sched->end_states[bits] =
                n ? trace_store_state(sched->store, trace_pool_add(&sched->store->pool, text, n))
                  : TRACE_STATE_NONE;
        return sched->end_states[bits];
}

/*
 * Rows of thread_state
 */

static TraceTable *state_table(const TraceSched *sched) {
        return trace_store_table(sched->store, TRACE_TABLE_STATE);
}

static ThreadRows *sched_rows(TraceSched *sched, uint32_t utid) {
        size_t n_before = sched->n_rows_allocated;

        if (utid >= n_before) {
                if (trace_reserve((void **)&sched->rows,
                                  &sched->n_rows_allocated,
                                  (size_t)utid + 1,
                                  sizeof(*sched->rows)))
                        return NULL;
                memset(sched->rows + n_before,
                       0xff,
                       (sched->n_rows_allocated - n_before) * sizeof(*sched->rows));
        }
        return &sched->rows[utid];
}

static bool row_is(const TraceSched *sched, uint32_t row, uint8_t state) {
        return row != TRACE_NONE &&
               ((const uint8_t *)state_table(sched)->columns[STATE_STATE])[row] == state;
}

static void state_close(TraceSched *sched, uint32_t utid, uint64_t at_ns) {
        TraceTable *table = state_table(sched);
        ThreadRows *rows = utid ? sched_rows(sched, utid) : NULL;

        if (!rows || rows->last == TRACE_NONE)
                return;
        ((int64_t *)table->columns[STATE_DUR])[rows->last] =
                (int64_t)(at_ns - (uint64_t)((int64_t *)table->columns[STATE_TS])[rows->last]);
}

static void rows_note(ThreadRows *rows, uint32_t row, uint8_t state) {
        if (state == TRACE_STATE_RUNNING)
                rows->last_blocked = TRACE_NONE;
        else if (state != TRACE_STATE_RUNNABLE)
                rows->last_blocked = row;
        rows->last = row;
}

/* The columns that every row has. The others are mostly empty. */
#define STATE_ALWAYS \
        (1u << STATE_TS | 1u << STATE_DUR | 1u << STATE_CPU | 1u << STATE_UTID | 1u << STATE_STATE)

static uint32_t
state_open(TraceSched *sched, uint64_t at_ns, uint32_t utid, uint8_t state, uint32_t cpu) {
        TraceTable *table = state_table(sched);
        ThreadRows *rows = utid ? sched_rows(sched, utid) : NULL;
        uint32_t row;

        if (!rows || (table->n == 0 && !trace_table_make(table, STATE_ALWAYS)))
                return TRACE_NONE;
        row = trace_table_add_raw(table);
        if (row == TRACE_NONE)
                return row;
        ((int64_t *)table->columns[STATE_TS])[row] = (int64_t)at_ns;
        ((int64_t *)table->columns[STATE_DUR])[row] = -1;
        ((uint16_t *)table->columns[STATE_CPU])[row] = (uint16_t)cpu;
        ((uint32_t *)table->columns[STATE_UTID])[row] = utid;
        ((uint8_t *)table->columns[STATE_STATE])[row] = state;
        if (table->columns[STATE_IO_WAIT])
                ((uint8_t *)table->columns[STATE_IO_WAIT])[row] = UINT8_MAX;
        if (table->columns[STATE_FUNCTION])
                ((uint32_t *)table->columns[STATE_FUNCTION])[row] = 0;
        if (table->columns[STATE_WAKER_UTID])
                ((uint32_t *)table->columns[STATE_WAKER_UTID])[row] = TRACE_NONE;
        if (table->columns[STATE_WAKER_ID])
                ((uint32_t *)table->columns[STATE_WAKER_ID])[row] = TRACE_NONE;
        if (table->columns[STATE_IRQ])
                ((uint8_t *)table->columns[STATE_IRQ])[row] = UINT8_MAX;
        rows_note(rows, row, state);
        return row;
}

static void state_runnable(TraceSched *sched,
                           uint64_t at_ns,
                           uint32_t utid,
                           uint32_t waker_utid,
                           int irq_context) {
        TraceTable *table = state_table(sched);
        ThreadRows *waker = sched_rows(sched, waker_utid);
        uint32_t waker_row = waker ? waker->last : TRACE_NONE;
        uint32_t row = state_open(sched, at_ns, utid, TRACE_STATE_RUNNABLE, UINT16_MAX);

        if (row == TRACE_NONE)
                return;
        trace_table_set(table, STATE_WAKER_UTID, row, waker_utid);
        if (row_is(sched, waker_row, TRACE_STATE_RUNNING))
                trace_table_set(table, STATE_WAKER_ID, row, waker_row);
        if (irq_context >= 0)
                trace_table_set(table, STATE_IRQ, row, (uint32_t)irq_context);
}

static void states_switch(TraceSched *sched,
                          uint64_t at_ns,
                          uint32_t cpu,
                          uint32_t prev,
                          uint8_t state,
                          uint32_t next) {
        ThreadRows *rows = sched_rows(sched, prev);

        /* If it was not running, events are missing, and nobody knows when its last state ended. */
        if (rows && (rows->last == TRACE_NONE || row_is(sched, rows->last, TRACE_STATE_RUNNING)))
                state_close(sched, prev, at_ns);
        state_open(sched, at_ns, prev, state, UINT16_MAX);
        state_close(sched, next, at_ns);
        state_open(sched, at_ns, next, TRACE_STATE_RUNNING, cpu);
}

static void wakeup_spurious(TraceSched *sched,
                            uint64_t at_ns,
                            uint32_t utid,
                            uint32_t waker,
                            uint32_t state_row,
                            int irq_context) {
        TraceTable *table = trace_store_table(sched->store, TRACE_TABLE_WAKEUP);
        uint32_t row = trace_table_add(table);

        if (row == TRACE_NONE)
                return;
        trace_table_set_i64(table, WAKEUP_TS, row, (int64_t)at_ns);
        trace_table_set(table, WAKEUP_STATE, row, state_row);
        trace_table_set(table, WAKEUP_UTID, row, utid);
        trace_table_set(table, WAKEUP_WAKER, row, waker);
        if (irq_context >= 0)
                trace_table_set(table, WAKEUP_IRQ, row, (uint32_t)irq_context);
}

static void
states_waking(TraceSched *sched, uint64_t at_ns, uint32_t utid, uint32_t waker, int irq_context) {
        ThreadRows *rows = sched_rows(sched, utid);
        uint32_t last = rows ? rows->last : TRACE_NONE;

        if (row_is(sched, last, TRACE_STATE_RUNNING) || row_is(sched, last, TRACE_STATE_RUNNABLE)) {
                wakeup_spurious(sched, at_ns, utid, waker, last, irq_context);
                return;
        }
        state_close(sched, utid, at_ns);
        state_runnable(sched, at_ns, utid, waker, irq_context);
}

/*
 * Events
 */

static void sched_close(TraceSched *sched, TraceSchedCpu *cpu, uint64_t at_ns, uint8_t end_state) {
        void **columns = trace_store_table(sched->store, TRACE_TABLE_SCHED)->columns;

        if (cpu->row == TRACE_NONE)
                return;
        if (columns[SCHED_DUR])
                ((int64_t *)columns[SCHED_DUR])[cpu->row] = (int64_t)(at_ns - cpu->since_ns);
        if (columns[SCHED_END_STATE])
                ((uint8_t *)columns[SCHED_END_STATE])[cpu->row] = end_state;
}

/* Columns that nobody asks for do not exist. */
static void
sched_set_row(TraceTable *table, uint32_t row, const TraceSwitch *event, uint32_t utid) {
        void **columns = table->columns;

        if (columns[SCHED_TS])
                ((int64_t *)columns[SCHED_TS])[row] = (int64_t)event->at_ns;
        if (columns[SCHED_DUR])
                ((int64_t *)columns[SCHED_DUR])[row] = -1;
        if (columns[SCHED_CPU])
                ((uint16_t *)columns[SCHED_CPU])[row] = (uint16_t)event->cpu;
        if (columns[SCHED_UTID])
                ((uint32_t *)columns[SCHED_UTID])[row] = utid;
        if (columns[SCHED_END_STATE])
                ((uint8_t *)columns[SCHED_END_STATE])[row] = TRACE_STATE_NONE;
        if (columns[SCHED_PRIORITY])
                ((int16_t *)columns[SCHED_PRIORITY])[row] = event->next_prio;
}

static void
sched_open(TraceSched *sched, TraceSchedCpu *cpu, const TraceSwitch *event, uint32_t utid) {
        TraceTable *table = trace_store_table(sched->store, TRACE_TABLE_SCHED);

        cpu->row = TRACE_NONE;
        cpu->since_ns = event->at_ns;
        if (!sched->wants_sched ||
            (table->n == 0 && !trace_table_make(table, ~sched->columns_left_out)))
                return;
        cpu->row = trace_table_add_raw(table);
        if (LIKELY(cpu->row != TRACE_NONE))
                sched_set_row(table, cpu->row, event, utid);
}

void trace_sched_switch(TraceSched *sched, const TraceSwitch *event) {
        TraceSchedCpu *cpu = &sched->cpus[event->cpu];
        uint32_t next = trace_threads_run(sched->threads, event->next_tid, event->next_comm);
        uint32_t prev =
                event->is_compact
                        ? cpu->utid
                        : trace_threads_run(sched->threads, event->prev_tid, event->prev_comm);
        uint8_t end_state;

        if (next == TRACE_NONE)
                return;
        if (!event->is_compact && cpu->tid != event->prev_tid && cpu->row != TRACE_NONE) {
                sched->n_mismatched++;
                cpu->row = TRACE_NONE;
        }
        cpu->utid = next;
        cpu->tid = event->next_tid;
        if (prev == TRACE_NONE) {
                sched->n_switches_skipped++;
                return;
        }
        end_state = sched_end_state(sched, event->prev_state);
        sched->n_states_invalid += end_state == TRACE_STATE_NONE;
        sched_close(sched, cpu, event->at_ns, end_state);
        sched_open(sched, cpu, event, next);
        if (sched->wants_states)
                states_switch(sched, event->at_ns, event->cpu, prev, end_state, next);
}

void trace_sched_waking(TraceSched *sched, const TraceWaking *event) {
        uint32_t waker = event->is_compact ? sched->cpus[event->cpu].utid
                                           : trace_threads_get(sched->threads, event->waker_tid);
        uint32_t utid;

        if (waker == TRACE_NONE) {
                sched->n_wakings_skipped++;
                return;
        }
        utid = trace_threads_get(sched->threads, event->tid);
        if (sched->wants_states && utid != TRACE_NONE)
                states_waking(sched,
                              event->at_ns,
                              utid,
                              waker,
                              event->is_compact ? (event->flags & IRQ_FLAGS) != 0 : -1);
}

void trace_sched_new_task(TraceSched *sched, uint64_t at_ns, uint32_t utid, uint32_t waker_utid) {
        if (sched->wants_states)
                state_runnable(sched, at_ns, utid, waker_utid, 0);
}

void trace_sched_blocked_reason(TraceSched *sched, uint32_t utid, bool io_wait, uint32_t function) {
        ThreadRows *rows = sched->wants_states ? sched_rows(sched, utid) : NULL;

        if (!rows || rows->last_blocked == TRACE_NONE)
                return;
        trace_table_set(state_table(sched), STATE_IO_WAIT, rows->last_blocked, io_wait);
        if (function)
                trace_table_set(state_table(sched), STATE_FUNCTION, rows->last_blocked, function);
}

uint32_t trace_sched_running(const TraceSched *sched, uint32_t cpu) {
        return sched->cpus[cpu].utid;
}

void trace_sched_finish(TraceSched *sched) {
        const struct {
                const char *name;
                uint64_t n;
        } counts[] = {
                { "mismatched_sched_switch_tids", sched->n_mismatched },
                { "compact_sched_switch_skipped", sched->n_switches_skipped },
                { "compact_sched_waking_skipped", sched->n_wakings_skipped },
                { "task_state_invalid", sched->n_states_invalid },
        };

        for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
                trace_store_set_stat(sched->store, counts[i].name, -1, counts[i].n);
}
