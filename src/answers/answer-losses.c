/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Whether a loss matters here
 *
 * A recording counts what it lost, mostly without saying when. Lost switches show, though: a thread's state has no end
 * although a later state of that thread is known. The answer looks for such gaps in the range. Some gaps are no losses:
 * when a thread moves to another CPU, the events of the two CPUs may contradict each other. A table says which answers
 * each kind of loss makes too small.
 */

#include <errno.h>

#include "answers/answer-questions.h"
#include "answers/answer-time.h"
#include "answers/answer-who.h"
#include "trace/trace-map.h"

static const AnswerColumn facts[] = {
        [LOSSES_FACT_KINDS] = { "kinds", NULL, ANSWER_COUNT },
        [LOSSES_FACT_GAPS] = { "gaps", NULL, ANSWER_COUNT },
        [LOSSES_FACT_HERE] = { "here", NULL, ANSWER_WORD },
};

enum { COLUMN_NAME, COLUMN_N, COLUMN_WHERE, COLUMN_MEANS };

static const AnswerColumn columns[] = {
        [COLUMN_NAME] = { "name", N_("NAME"), ANSWER_TEXT },
        [COLUMN_N] = { "n", N_("TIMES"), ANSWER_COUNT },
        [COLUMN_WHERE] = { "where", N_("WHERE"), ANSWER_COUNT },
        [COLUMN_MEANS] = { "means", N_("MEANS"), ANSWER_WORD },
};

static const char here_no[] = N_("no");
static const char here_yes[] = N_("yes");
static const char here_maybe[] = N_("it may");

#define MEANS_KERNEL                                                                              \
        N_("kernel events of that CPU are missing: times on CPUs and waits are too short or too " \
           "long")
#define MEANS_EVENTS \
        N_("events of programs are missing: slices and counters are fewer than there were")
#define MEANS_FILE    N_("the rest of the file is missing")
#define MEANS_CLOCK   N_("packets without a known time were left out")
#define MEANS_UNKNOWN N_("something is missing")

/* clang-format off */
static const struct {
        const char *name;
        const char *means;
} meanings[] = {
        { "ftrace_cpu_has_data_loss", MEANS_KERNEL },
        { "ftrace_cpu_commit_overrun_delta", MEANS_KERNEL },
        { "ftrace_cpu_dropped_events_delta", MEANS_KERNEL },
        { "mismatched_sched_switch_tids", MEANS_KERNEL },
        { "compact_sched_has_parse_errors", MEANS_KERNEL },
        { "task_state_invalid", MEANS_KERNEL },
        { "misplaced_end_event", MEANS_EVENTS },
        { "traced_buf_abi_violations", MEANS_EVENTS },
        { "traced_buf_patches_failed", MEANS_EVENTS },
        { "traced_buf_sequence_packet_loss", MEANS_EVENTS },
        { "traced_buf_trace_writer_packet_loss", MEANS_EVENTS },
        { "slice_drop_overlapping_complete_event", MEANS_EVENTS },
        { "slice_max_depth_exceeded", MEANS_EVENTS },
        { "traced_final_flush_failed", MEANS_EVENTS },
        { "traced_flushes_failed", MEANS_EVENTS },
        { "tokenizer_malformed_packets", MEANS_FILE },
        { "trace_file_damaged", MEANS_FILE },
        { "trace_memory_limit_reached", MEANS_FILE },
        { "clock_sync_failure", MEANS_CLOCK },
};
/* clang-format on */

static const char *meaning_of(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
                if (streq(meanings[i].name, name))
                        return meanings[i].means;
        return MEANS_UNKNOWN;
}

static bool is_loss(const TraceStore *store, uint32_t row) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STAT];
        const char *severity =
                trace_pool_text(&store->pool, trace_table_get(table, STAT_SEVERITY, row));

        return severity && !streq(severity, "info") && trace_table_i64(table, STAT_VALUE, row) > 0;
}

static void put_loss(Answer *answer, const TraceStore *store, uint32_t row) {
        const TraceTable *table = &store->tables[TRACE_TABLE_STAT];
        const char *name = trace_pool_text(&store->pool, trace_table_get(table, STAT_NAME, row));
        AnswerValue *cells = answer_add_row(answer);
        int64_t idx;

        if (!cells)
                return;
        answer_set_text(answer, &cells[COLUMN_NAME], name);
        answer_set(&cells[COLUMN_N], trace_table_i64(table, STAT_VALUE, row));
        if (trace_table_number(table, STAT_IDX, row, &idx))
                answer_set(&cells[COLUMN_WHERE], idx);
        answer_set_word(&cells[COLUMN_MEANS], meaning_of(name ? name : ""));
}

/* Counts the states in the range that have no end and are not their thread's last, and how long each gap is. */
static int count_gaps(const AnswerQuestion *question, uint64_t *ret) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_STATE];
        _cleanup_(trace_map_deinit) TraceMap next = { 0 };

        *ret = 0;
        for (uint32_t row = (uint32_t)table->n; row-- > 0;) {
                uint32_t utid = trace_table_get(table, STATE_UTID, row);
                uint64_t after = trace_map_find(&next, utid);
                int64_t ts = trace_table_i64(table, STATE_TS, row), end;

                if (after != TRACE_MAP_NONE && trace_table_i64(table, STATE_DUR, row) < 0) {
                        end = trace_table_i64(table, STATE_TS, (uint32_t)after);
                        *ret += time_overlap(ts, end, question->start, question->end) > 0;
                }
                if (trace_map_set(&next, utid, row))
                        return -ENOMEM;
        }
        return 0;
}

static int losses_find(Answer *answer, const AnswerQuestion *question) {
        const TraceTable *table = &question->store->tables[TRACE_TABLE_STAT];
        uint64_t n_gaps, n_kinds = 0;
        int r = count_gaps(question, &n_gaps);

        for (uint32_t row = 0; row < table->n; row++)
                if (is_loss(question->store, row)) {
                        n_kinds++;
                        put_loss(answer, question->store, row);
                }
        answer_set(&answer->facts[LOSSES_FACT_KINDS], (int64_t)n_kinds);
        answer_set(&answer->facts[LOSSES_FACT_GAPS], (int64_t)n_gaps);
        answer_set_word(&answer->facts[LOSSES_FACT_HERE],
                        !n_kinds ? here_no
                        : n_gaps ? here_yes
                                 : here_maybe);
        return r;
}

const AnswerDef answer_losses = {
        .name = "losses",
        .record = "desktrace record -p default",
        .parts = TRACE_PART_THREADS | TRACE_PART_EVENTS | TRACE_PART_SCHED | TRACE_PART_STATES,
        .facts = facts,
        .n_facts = ARRAY_SIZE(facts),
        .columns = columns,
        .n_columns = ARRAY_SIZE(columns),
        .find = losses_find,
};
