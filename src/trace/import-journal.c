/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Entries of the journal
 */

#include "trace/import.h"

typedef struct JournalText {
        uint32_t number; /* in JournaldEvent */
        unsigned column;
} JournalText;

static const JournalText journal_texts[] = {
        { 6, LOG_TAG },   { 7, LOG_MSG },   { 8, LOG_COMM },
        { 10, LOG_UNIT }, { 11, LOG_HOST }, { 12, LOG_TRANSPORT },
};

enum { JOURNAL_PID = 1, JOURNAL_TID = 2, JOURNAL_UID = 3, JOURNAL_PRIO = 5, JOURNAL_NUMBERS };

static void journal_set_numbers(TraceImport *import, uint32_t row, const WireField *entry) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_LOG);
        uint64_t numbers[JOURNAL_NUMBERS];
        uint64_t found = trace_read_numbers(entry, numbers, ARRAY_SIZE(numbers));
        int32_t tid = (int32_t)(numbers[JOURNAL_TID] ? numbers[JOURNAL_TID] : numbers[JOURNAL_PID]);

        if (tid > 0)
                trace_table_set(table, LOG_UTID, row, trace_threads_get(&import->threads, tid));
        if (found & 1u << JOURNAL_PRIO)
                trace_table_set(table, LOG_PRIO, row, (uint32_t)numbers[JOURNAL_PRIO]);
        if (found & 1u << JOURNAL_PID)
                trace_table_set(table, LOG_PID, row, (uint32_t)numbers[JOURNAL_PID]);
        if (found & 1u << JOURNAL_UID)
                trace_table_set(table, LOG_UID, row, (uint32_t)numbers[JOURNAL_UID]);
}

/* An entry that only counts other entries has neither a text nor a priority. */
static bool journal_is_entry(const WireField *entry) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, entry);
        while (wire_read(&reader, &field) > 0)
                if (field.number == 7 || field.number == JOURNAL_PRIO)
                        return true;
        return false;
}

void apply_journal(TraceImport *import, uint64_t at_ns, const WireField *entry) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_LOG);
        WireReader reader;
        WireField field;
        uint32_t row;

        if (!journal_is_entry(entry))
                return;
        row = trace_table_add(table);
        if (row == TRACE_NONE)
                return;
        trace_table_set_i64(table, LOG_TS, row, (int64_t)at_ns);
        wire_reader_init_field(&reader, entry);
        while (wire_read(&reader, &field) > 0)
                for (size_t i = 0; i < ARRAY_SIZE(journal_texts); i++)
                        if (field.number == journal_texts[i].number && field.type == WIRE_BYTES)
                                trace_table_set(table,
                                                journal_texts[i].column,
                                                row,
                                                import_text(import, &field));
        journal_set_numbers(import, row, entry);
}
