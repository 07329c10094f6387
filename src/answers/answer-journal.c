/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Journal entries of the time */

#include <errno.h>

#include "answers/answer-questions.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"
#include "trace/trace-map.h"

#define PRIORITY_WARNING 4 /* syslog priority; smaller is worse */

static const AnswerColumn facts[] = {
        [JOURNAL_FACT_N] = { "n", NULL, ANSWER_COUNT },
        [JOURNAL_FACT_BAD] = { "warnings", NULL, ANSWER_COUNT },
};

enum { COLUMN_AT, COLUMN_PRIORITY, COLUMN_WHO, COLUMN_UNIT, COLUMN_TEXT };

static const AnswerColumn columns[] = {
        [COLUMN_AT] = { "at", N_("AT"), ANSWER_TIME },
        [COLUMN_PRIORITY] = { "priority", N_("PRIORITY"), ANSWER_COUNT },
        [COLUMN_WHO] = { "who", N_("WHO"), ANSWER_TEXT },
        [COLUMN_UNIT] = { "unit", N_("UNIT"), ANSWER_TEXT },
        [COLUMN_TEXT] = { "text", N_("TEXT"), ANSWER_TEXT },
};

typedef struct JournalEntry {
        int64_t at;
        uint32_t row;
} JournalEntry;

static int compare_entries(const void *x, const void *y) {
        const JournalEntry *a = x, *b = y;

        if (a->at != b->at)
                return a->at < b->at ? -1 : 1;
        return a->row < b->row ? -1 : a->row > b->row;
}

/* The table is not sorted by time. */
static int collect(JournalEntry **ret, size_t *ret_n, const AnswerQuestion *question) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_LOG];
        JournalEntry *entries = calloc(table->n + 1, sizeof(*entries));
        size_t n = 0;

        if (!entries)
                return -ENOMEM;
        for (uint32_t row = 0; row < table->n; row++) {
                int64_t at = trace_table_i64(table, LOG_TS, row);

                if (at >= question->start && at <= question->end)
                        entries[n++] = (JournalEntry){ .at = at, .row = row };
        }
        qsort(entries, n, sizeof(*entries), compare_entries);
        *ret = entries;
        *ret_n = n;
        return 0;
}

static void put_entry(Answer *answer, const AnswerQuestion *question, const JournalEntry *entry) {
        const TraceStore *store = question->store;
        const TraceTable *table = &store->tables[TRACE_TABLE_LOG];
        AnswerValue *cells = answer_add_row(answer);
        int64_t priority;

        if (!cells)
                return;
        answer_set(&cells[COLUMN_AT], time_since(entry->at, question->zero));
        if (trace_table_number(table, LOG_PRIO, entry->row, &priority))
                answer_set(&cells[COLUMN_PRIORITY], priority);
        answer_set_name(answer,
                        &cells[COLUMN_WHO],
                        store,
                        trace_table_get(table, LOG_TAG, entry->row)
                                ?: trace_table_get(table, LOG_COMM, entry->row));
        answer_set_name(answer,
                        &cells[COLUMN_UNIT],
                        store,
                        trace_table_get(table, LOG_USER_UNIT, entry->row)
                                ?: trace_table_get(table, LOG_UNIT, entry->row));
        answer_set_name(
                answer, &cells[COLUMN_TEXT], store, trace_table_get(table, LOG_MSG, entry->row));
}

static int journal_find(Answer *answer, const AnswerQuestion *question) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_LOG];
        _cleanup_(freep) JournalEntry *entries = NULL;
        size_t n, n_bad = 0;
        int r;

        if (table->n == 0)
                return ANSWER_E_NOTHING;
        r = collect(&entries, &n, question);
        if (r)
                return r;
        for (size_t i = 0; i < n; i++) {
                n_bad += trace_table_get(table, LOG_PRIO, entries[i].row) <= PRIORITY_WARNING;
                put_entry(answer, question, &entries[i]);
        }
        answer_set(&answer->facts[JOURNAL_FACT_N], (int64_t)n);
        answer_set(&answer->facts[JOURNAL_FACT_BAD], (int64_t)n_bad);
        return 0;
}

const AnswerDef answer_journal = {
        .name = "journal",
        .record = "desktrace record linux.systemd_journald",
        .parts = TRACE_PART_THREADS | TRACE_PART_LOGS,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = journal_find,
};
