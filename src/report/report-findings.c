/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Findings: sentences about what stands out in a recording */

#include "report/report-findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "report/report-causes.h"
#include "shared/text.h"

/* How many of each kind are shown: a page begins with what can be read at a glance. */
#define SLICES_SHOWN   5
#define PROGRAMS_SHOWN 5

/*
 * Programs by their use of the CPUs
 */

static double share_of_machine(const ReportSentences *sentences, int64_t running_ns) {
        const ReportContent *content = sentences->content;
        double length = (double)content->end_ns - (double)content->start_ns;

        return length > 0 ? 100.0 * (double)running_ns / length : 0;
}

static void put_program(ReportSentences *sentences, const ReportGroup *group) {
        const TraceTable *processes = &sentences->content->store->tables[TRACE_TABLE_PROCESS];
        const ReportContent *content = sentences->content;
        const ReportPlace place = { .from_ns = content->start_ns,
                                    .to_ns = content->end_ns,
                                    .what = "upid",
                                    .number = group->upid };
        _cleanup_(freep) char *name =
                report_name_of(sentences, trace_table_get(processes, PROCESS_NAME, group->upid));
        char text[REPORT_SENTENCE_BYTES], duration[TEXT_SIZE_BYTES], number[REPORT_NUMBER_BYTES];
        int64_t pid = 0;

        trace_table_number(processes, PROCESS_PID, group->upid, &pid);
        snprintf(number, sizeof(number), "%" PRId64, pid);
        snprintf(
                text,
                sizeof(text),
                report_translated(sentences, N_("%s (process %s) ran for %s: %.1f %% of one CPU.")),
                name ? name : "",
                number,
                text_format_duration(duration, (uint64_t)group->running_ns),
                share_of_machine(sentences, group->running_ns));
        report_item(sentences, text, &place);
}

static const ReportGroup *next_by_running(const ReportGroups *groups, const ReportGroup *before) {
        const ReportGroup *best = NULL;

        for (size_t i = 0; i < groups->n; i++) {
                const ReportGroup *group = &groups->groups[i];

                if (group->upid == REPORT_MACHINE || group->running_ns == 0)
                        continue;
                if (before && (group->running_ns > before->running_ns ||
                               (group->running_ns == before->running_ns && group <= before)))
                        continue;
                if (!best || group->running_ns > best->running_ns)
                        best = group;
        }
        return best;
}

static void put_programs(ReportSentences *sentences) {
        const ReportGroup *group = next_by_running(&sentences->content->groups, NULL);

        if (!group)
                return;
        report_list_begin(sentences, N_("Who used the CPUs"));
        for (unsigned i = 0; group && i < PROGRAMS_SHOWN; i++) {
                put_program(sentences, group);
                group = next_by_running(&sentences->content->groups, group);
        }
        report_list_end(sentences);
}

/*
 * The longest slices
 */

typedef struct Longest {
        uint32_t rows[SLICES_SHOWN];
        size_t n;
} Longest;

static int64_t duration_of(const ReportSentences *sentences, uint32_t row) {
        return trace_table_i64(
                &sentences->content->store->tables[TRACE_TABLE_SLICE], SLICE_DUR, row);
}

static bool is_called(const ReportSentences *sentences, uint32_t row, const char *name) {
        const TraceTable *slices = &sentences->content->store->tables[TRACE_TABLE_SLICE];
        const char *text = trace_pool_text(&sentences->content->store->pool,
                                           trace_table_get(slices, SLICE_NAME, row));

        return text && streq(text, name);
}

/* Only the longest slice of each name, unless all have the same name. */
static void
add_longest(const ReportSentences *sentences, Longest *longest, uint32_t row, bool once_a_name) {
        const TraceTable *slices = &sentences->content->store->tables[TRACE_TABLE_SLICE];
        size_t at = longest->n, i;

        for (i = 0; once_a_name && i < longest->n; i++)
                if (trace_table_get(slices, SLICE_NAME, longest->rows[i]) ==
                    trace_table_get(slices, SLICE_NAME, row)) {
                        if (duration_of(sentences, longest->rows[i]) >= duration_of(sentences, row))
                                return;
                        memmove(&longest->rows[i],
                                &longest->rows[i + 1],
                                (longest->n - i - 1) * sizeof(*longest->rows));
                        longest->n--;
                        break;
                }
        for (at = longest->n;
             at > 0 && duration_of(sentences, longest->rows[at - 1]) < duration_of(sentences, row);)
                at--;
        if (at == SLICES_SHOWN)
                return;
        longest->n = MIN(longest->n + 1, (size_t)SLICES_SHOWN);
        memmove(&longest->rows[at + 1],
                &longest->rows[at],
                (longest->n - at - 1) * sizeof(*longest->rows));
        longest->rows[at] = row;
}

/* malloc'ed, or NULL. */
static char *owner_of(const ReportSentences *sentences, uint32_t track) {
        const TraceStore *store = sentences->content->store;
        uint32_t upid = report_track_process(store, track);

        if (upid == REPORT_MACHINE)
                return strdup(report_translated(sentences, N_("the machine")));
        return report_name_of(
                sentences,
                trace_table_get(&store->tables[TRACE_TABLE_PROCESS], PROCESS_NAME, upid));
}

static void put_slice(ReportSentences *sentences, uint32_t row, bool has_cause) {
        const TraceTable *slices = &sentences->content->store->tables[TRACE_TABLE_SLICE];
        uint32_t track = trace_table_get(slices, SLICE_TRACK, row);
        int64_t start_ns = trace_table_i64(slices, SLICE_TS, row), end_ns;
        _cleanup_(freep) char *name =
                report_name_of(sentences, trace_table_get(slices, SLICE_NAME, row));
        _cleanup_(freep) char *owner = owner_of(sentences, track);
        char text[REPORT_SENTENCE_BYTES], duration[TEXT_SIZE_BYTES], at[TEXT_SIZE_BYTES];
        ReportPlace place = { .from_ns = start_ns, .what = "track", .number = track };

        place.to_ns = __builtin_add_overflow(start_ns, duration_of(sentences, row), &end_ns)
                              ? start_ns
                              : end_ns;
        snprintf(text,
                 sizeof(text),
                 report_translated(sentences, N_("%s of %s took %s, from %s on.")),
                 name ? name : "",
                 owner ? owner : "",
                 text_format_duration(duration, (uint64_t)duration_of(sentences, row)),
                 text_format_duration(at, (uint64_t)report_since_start(sentences, start_ns)));
        report_item_begin(sentences, text, &place);
        if (has_cause)
                report_cause_of_slice(sentences, row);
        report_item_end(sentences);
}

static void
put_longest(ReportSentences *sentences, const Longest *longest, const char *title, bool has_cause) {
        if (longest->n == 0)
                return;
        report_list_begin(sentences, title);
        for (size_t i = 0; i < longest->n; i++)
                put_slice(sentences, longest->rows[i], has_cause);
        report_list_end(sentences);
}

/* Stalls of main loops and late frames, which unmodified programs have, too; and slices of programs. */
static void put_slices(ReportSentences *sentences) {
        const TraceTable *slices = &sentences->content->store->tables[TRACE_TABLE_SLICE];
        Longest stalls = { 0 }, frames = { 0 }, others = { 0 };

        for (uint32_t row = 0; row < slices->n; row++) {
                if (duration_of(sentences, row) <= 0)
                        continue;
                if (is_called(sentences, row, "stall"))
                        add_longest(sentences, &stalls, row, false);
                else if (is_called(sentences, row, "late frame"))
                        add_longest(sentences, &frames, row, false);
                else
                        add_longest(sentences, &others, row, true);
        }
        report_slowest(sentences);
        put_longest(sentences, &stalls, N_("The longest stalls of main loops"), true);
        put_longest(sentences, &frames, N_("The latest frames"), true);
        put_longest(sentences, &others, N_("The longest slices, each name once"), false);
}

int report_findings(Bytes *page,
                    const ReportContent *content,
                    const char *(*translate)(const char *),
                    ReportTell tell) {
        ReportSentences sentences = {
                .page = page, .content = content, .translate = translate, .tell = tell
        };

        report_losses(&sentences);
        put_slices(&sentences);
        put_programs(&sentences);
        report_heap_answers(&sentences);
        report_machine_answers(&sentences);
        return sentences.error;
}
