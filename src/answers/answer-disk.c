/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Waits for the disk, by thread
 *
 * These are uninterruptible waits (state D). Only sched_blocked_reason tells whether a wait was for IO; without that
 * event, waits for locks in the kernel are among them, and the answer says so.
 */

#include "answers/answer-questions.h"
#include "answers/answer-states.h"
#include "answers/answer-tally.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"

static const AnswerColumn facts[] = {
        [DISK_FACT_TOTAL] = { "total_ns", NULL, ANSWER_NS },
        [DISK_FACT_N] = { "n", NULL, ANSWER_COUNT },
        [DISK_FACT_MAX] = { "max_ns", NULL, ANSWER_NS },
};

enum {
        COLUMN_N = DISK_COLUMN_NS + 1,
        COLUMN_MAX,
        COLUMN_AT,
        COLUMN_WHAT,
        COLUMN_IN,
        COLUMN_PROGRAM
};

static const AnswerColumn columns[] = {
        [DISK_COLUMN_WHO] = { "thread", N_("WHO"), ANSWER_TEXT },
        [DISK_COLUMN_NS] = { "waited_ns", N_("WAITED"), ANSWER_NS },
        [COLUMN_N] = { "n", N_("TIMES"), ANSWER_COUNT },
        [COLUMN_MAX] = { "longest_ns", N_("LONGEST"), ANSWER_NS },
        [COLUMN_AT] = { "longest_at", N_("AT"), ANSWER_TIME },
        [COLUMN_WHAT] = { "what", N_("WHAT"), ANSWER_WORD },
        [COLUMN_IN] = { "function", N_("IN"), ANSWER_TEXT },
        [COLUMN_PROGRAM] = { "program", N_("PROGRAM"), ANSWER_TEXT },
};

static const char word_io[] = N_("IO");
static const char word_other[] = N_("not IO");
static const char word_unknown[] = N_("IO or a lock");

/* The waits of one thread, of one kind and in one function; the key is the row of the first. */
typedef struct Disk {
        const AnswerQuestion *question;
        AnswerTally tally;
        TraceMap firsts; /* thread and function → row */
        int64_t total, max;
        uint64_t n;
} Disk;

static void disk_deinit(Disk *disk) {
        answer_tally_deinit(&disk->tally);
        trace_map_deinit(&disk->firsts);
}

static int disk_key(Disk *disk, uint32_t row, uint64_t *ret) {
        const TraceTable *table = &disk->question->store->tables[TRACE_TABLE_STATE];
        uint64_t utid = trace_table_get(table, STATE_UTID, row),
                 function = trace_table_get(table, STATE_FUNCTION, row),
                 io = trace_table_get(table, STATE_IO_WAIT, row) & 3;
        uint64_t key = utid << 32 | function << 2 | io, first = trace_map_find(&disk->firsts, key);

        *ret = first;
        if (first != TRACE_MAP_NONE)
                return 0;
        *ret = row;
        return trace_map_set(&disk->firsts, key, row);
}

static int take_wait(Disk *disk, uint32_t row) {
        const TraceTable *table = &disk->question->store->tables[TRACE_TABLE_STATE];
        int64_t ts = trace_table_i64(table, STATE_TS, row),
                dur = trace_table_i64(table, STATE_DUR, row), ns;
        uint64_t key;
        int r;

        ns = dur < 0 ? 0
                     : time_overlap(
                               ts, time_add(ts, dur), disk->question->start, disk->question->end);
        if (ns == 0)
                return 0;
        r = disk_key(disk, row, &key);
        if (r)
                return r;
        disk->n++;
        disk->total = time_add(disk->total, ns);
        disk->max = MAX(disk->max, ns);
        return answer_tally_add(&disk->tally, key, MAX(ts, disk->question->start), ns);
}

static void put_waits(Answer *answer, const Disk *disk, const AnswerTallyItem *item) {
        const TraceStore *store = disk->question->store;
        const TraceTable *table = &store->tables[TRACE_TABLE_STATE];
        uint32_t row = (uint32_t)item->key, utid = trace_table_get(table, STATE_UTID, row),
                 io = trace_table_get(table, STATE_IO_WAIT, row);
        AnswerValue *cells = answer_add_row(answer);

        if (!cells)
                return;
        answer_set_thread(answer, &cells[DISK_COLUMN_WHO], store, utid);
        answer_set(&cells[DISK_COLUMN_NS], item->total_ns);
        answer_set(&cells[COLUMN_N], (int64_t)item->n);
        answer_set(&cells[COLUMN_MAX], item->max_ns);
        answer_set(&cells[COLUMN_AT], time_since(item->max_at, disk->question->zero));
        answer_set_word(&cells[COLUMN_WHAT],
                        io == 1   ? word_io
                        : io == 0 ? word_other
                                  : word_unknown);
        answer_set_name(
                answer, &cells[COLUMN_IN], store, trace_table_get(table, STATE_FUNCTION, row));
        answer_set_name(answer, &cells[COLUMN_PROGRAM], store, answer_who_program(store, utid));
}

static int disk_find(Answer *answer, const AnswerQuestion *question) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_STATE];
        _cleanup_(disk_deinit) Disk disk = { .question = question };
        int r = 0;

        if (table->n == 0)
                return ANSWER_E_NOTHING;
        for (uint32_t row = 0; r == 0 && row < table->n; row++) {
                AnswerState state = answer_state_of(question->store, row);

                if (state == ANSWER_STATE_IO || state == ANSWER_STATE_BLOCKED)
                        r = take_wait(&disk, row);
        }
        answer_tally_sort(&disk.tally);
        for (size_t i = 0; i < disk.tally.n; i++)
                put_waits(answer, &disk, &disk.tally.items[i]);
        answer_set(&answer->facts[DISK_FACT_TOTAL], disk.total);
        answer_set(&answer->facts[DISK_FACT_N], (int64_t)disk.n);
        answer_set(&answer->facts[DISK_FACT_MAX], disk.max);
        return r;
}

const AnswerDef answer_disk = {
        .name = "disk",
        .record = "desktrace record -p io",
        .parts = TRACE_PART_THREADS | TRACE_PART_SCHED | TRACE_PART_STATES,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = disk_find,
};
