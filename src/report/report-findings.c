/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "report/report-findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "report/report-html.h"
#include "shared/text.h"
#include "shared/utf8.h"

/* So many of each kind: a page begins with what can be read at a glance. */
#define SLICES_SHOWN   5
#define PROGRAMS_SHOWN 5
#define STALLS_SHOWN   5
#define NAME_BYTES_MAX 120 /* of a name in a sentence */
#define NUMBER_BYTES   24
#define SENTENCE_BYTES 1024

typedef struct Findings {
        Bytes *page;
        const ReportContent *content;
        const char *(*translate)(const char *);
        int error;
} Findings;

/* A place in the picture. */
typedef struct Place {
        int64_t from_ns, to_ns;
        const char *what; /* "track", "upid" */
        uint32_t number;
} Place;

static const char *word(const Findings *findings, const char *text) {
        return findings->translate ? findings->translate(text) : text;
}

static void put(Findings *findings, const char *html) {
        int r = bytes_append(findings->page, html, strlen(html));

        if (r != 0)
                findings->error = r;
}

static void put_text(Findings *findings, const char *text) {
        int r = report_html_text(findings->page, text);

        if (r != 0)
                findings->error = r;
}

static int64_t since_start(const Findings *findings, int64_t at_ns) {
        return (int64_t)((uint64_t)at_ns - (uint64_t)findings->content->start_ns);
}

/* A sentence with a link to its place, if it has one. */
static void put_sentence(Findings *findings, const char *text, const Place *place) {
        char link[256];

        put(findings, "<li>");
        if (place) {
                snprintf(link,
                         sizeof(link),
                         "<a href=\"#picture\" data-from=\"%" PRId64 "\" data-to=\"%" PRId64
                         "\" data-%s=\"%u\">",
                         since_start(findings, place->from_ns),
                         since_start(findings, place->to_ns),
                         place->what,
                         place->number);
                put(findings, link);
        }
        put_text(findings, text);
        put(findings, place ? "</a></li>\n" : "</li>\n");
}

static void begin_list(Findings *findings, const char *title) {
        put(findings, "<h3>");
        put_text(findings, word(findings, title));
        put(findings, "</h3>\n<ul>\n");
}

static void end_list(Findings *findings) {
        put(findings, "</ul>\n");
}

static const char *text_of(const Findings *findings, uint32_t name) {
        const char *text = trace_pool_text(&findings->content->store->pool, name);

        return text ? text : "";
}

/* As it stands in a sentence; malloc'ed, or NULL. */
static char *name_of(const Findings *findings, uint32_t name) {
        const char *text = text_of(findings, name);

        return utf8_copy_line(*text ? text : "?", NAME_BYTES_MAX);
}

/*
 * Losses
 */

static bool is_loss(const Findings *findings, uint32_t row) {
        const TraceTable *stats = &findings->content->store->tables[TRACE_TABLE_STAT];
        const char *severity = text_of(findings, trace_table_get(stats, STAT_SEVERITY, row));

        return trace_table_i64(stats, STAT_VALUE, row) > 0 &&
               (streq(severity, "data_loss") || streq(severity, "error"));
}

static void put_loss(Findings *findings, uint32_t row) {
        const TraceTable *stats = &findings->content->store->tables[TRACE_TABLE_STAT];
        _cleanup_(freep) char *name = name_of(findings, trace_table_get(stats, STAT_NAME, row));
        char number[NUMBER_BYTES], text[SENTENCE_BYTES];

        snprintf(number, sizeof(number), "%" PRId64, trace_table_i64(stats, STAT_VALUE, row));
        snprintf(text,
                 sizeof(text),
                 word(findings, N_("No: %s is %s. \"desktrace inspect\" explains it.")),
                 name ? name : "",
                 number);
        put_sentence(findings, text, NULL);
}

static void put_losses(Findings *findings) {
        size_t n = 0;

        begin_list(findings, N_("Is it complete?"));
        for (uint32_t row = 0; row < findings->content->store->tables[TRACE_TABLE_STAT].n; row++)
                if (is_loss(findings, row)) {
                        put_loss(findings, row);
                        n++;
                }
        if (n == 0)
                put_sentence(findings,
                             word(findings, N_("Yes: nothing was lost while it was recorded.")),
                             NULL);
        end_list(findings);
}

/*
 * Programs by their use of the CPUs
 */

static double share_of_machine(const Findings *findings, int64_t running_ns) {
        const ReportContent *content = findings->content;
        double length = (double)content->end_ns - (double)content->start_ns;

        return length > 0 ? 100.0 * (double)running_ns / length : 0;
}

static void put_program(Findings *findings, const ReportGroup *group) {
        const TraceTable *processes = &findings->content->store->tables[TRACE_TABLE_PROCESS];
        const ReportContent *content = findings->content;
        const Place place = { content->start_ns, content->end_ns, "upid", group->upid };
        _cleanup_(freep) char *name =
                name_of(findings, trace_table_get(processes, PROCESS_NAME, group->upid));
        char text[SENTENCE_BYTES], duration[TEXT_SIZE_BYTES], number[NUMBER_BYTES];
        int64_t pid = 0;

        trace_table_number(processes, PROCESS_PID, group->upid, &pid);
        snprintf(number, sizeof(number), "%" PRId64, pid);
        snprintf(text,
                 sizeof(text),
                 word(findings, N_("%s (process %s) ran for %s: %.1f %% of one CPU.")),
                 name ? name : "",
                 number,
                 text_format_duration(duration, (uint64_t)group->running_ns),
                 share_of_machine(findings, group->running_ns));
        put_sentence(findings, text, &place);
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

static void put_programs(Findings *findings) {
        const ReportGroup *group = next_by_running(&findings->content->groups, NULL);

        if (!group)
                return;
        begin_list(findings, N_("Who used the CPUs"));
        for (unsigned i = 0; group && i < PROGRAMS_SHOWN; i++) {
                put_program(findings, group);
                group = next_by_running(&findings->content->groups, group);
        }
        end_list(findings);
}

/*
 * The longest slices
 */

typedef struct Longest {
        uint32_t rows[SLICES_SHOWN];
        size_t n;
} Longest;

static int64_t duration_of(const Findings *findings, uint32_t row) {
        return trace_table_i64(
                &findings->content->store->tables[TRACE_TABLE_SLICE], SLICE_DUR, row);
}

static bool is_called(const Findings *findings, uint32_t row, const char *name) {
        const TraceTable *slices = &findings->content->store->tables[TRACE_TABLE_SLICE];
        const char *text = trace_pool_text(&findings->content->store->pool,
                                           trace_table_get(slices, SLICE_NAME, row));

        return text && streq(text, name);
}

/* Of one name only the longest, unless all have the same. */
static void
add_longest(const Findings *findings, Longest *longest, uint32_t row, bool once_a_name) {
        const TraceTable *slices = &findings->content->store->tables[TRACE_TABLE_SLICE];
        size_t at = longest->n, i;

        for (i = 0; once_a_name && i < longest->n; i++)
                if (trace_table_get(slices, SLICE_NAME, longest->rows[i]) ==
                    trace_table_get(slices, SLICE_NAME, row)) {
                        if (duration_of(findings, longest->rows[i]) >= duration_of(findings, row))
                                return;
                        memmove(&longest->rows[i],
                                &longest->rows[i + 1],
                                (longest->n - i - 1) * sizeof(*longest->rows));
                        longest->n--;
                        break;
                }
        for (at = longest->n;
             at > 0 && duration_of(findings, longest->rows[at - 1]) < duration_of(findings, row);)
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
static char *owner_of(const Findings *findings, uint32_t track) {
        const TraceStore *store = findings->content->store;
        uint32_t upid = report_track_process(store, track);

        if (upid == REPORT_MACHINE)
                return strdup(word(findings, N_("the machine")));
        return name_of(findings,
                       trace_table_get(&store->tables[TRACE_TABLE_PROCESS], PROCESS_NAME, upid));
}

static void put_slice(Findings *findings, uint32_t row) {
        const TraceTable *slices = &findings->content->store->tables[TRACE_TABLE_SLICE];
        uint32_t track = trace_table_get(slices, SLICE_TRACK, row);
        int64_t start_ns = trace_table_i64(slices, SLICE_TS, row), end_ns;
        _cleanup_(freep) char *name = name_of(findings, trace_table_get(slices, SLICE_NAME, row));
        _cleanup_(freep) char *owner = owner_of(findings, track);
        char text[SENTENCE_BYTES], duration[TEXT_SIZE_BYTES], at[TEXT_SIZE_BYTES];
        Place place = { .from_ns = start_ns, .what = "track", .number = track };

        place.to_ns = __builtin_add_overflow(start_ns, duration_of(findings, row), &end_ns)
                              ? start_ns
                              : end_ns;
        snprintf(text,
                 sizeof(text),
                 word(findings, N_("%s of %s took %s, from %s on.")),
                 name ? name : "",
                 owner ? owner : "",
                 text_format_duration(duration, (uint64_t)duration_of(findings, row)),
                 text_format_duration(at, (uint64_t)since_start(findings, start_ns)));
        put_sentence(findings, text, &place);
}

static void put_longest(Findings *findings, const Longest *longest, const char *title) {
        if (longest->n == 0)
                return;
        begin_list(findings, title);
        for (size_t i = 0; i < longest->n; i++)
                put_slice(findings, longest->rows[i]);
        end_list(findings);
}

/* Stalls of main loops and late frames, which programs show that were not changed for it; and slices of programs. */
static void put_slices(Findings *findings) {
        const TraceTable *slices = &findings->content->store->tables[TRACE_TABLE_SLICE];
        Longest stalls = { 0 }, frames = { 0 }, others = { 0 };

        for (uint32_t row = 0; row < slices->n; row++) {
                if (duration_of(findings, row) <= 0)
                        continue;
                if (is_called(findings, row, "stall"))
                        add_longest(findings, &stalls, row, false);
                else if (is_called(findings, row, "late frame"))
                        add_longest(findings, &frames, row, false);
                else
                        add_longest(findings, &others, row, true);
        }
        put_longest(findings, &stalls, N_("The longest stalls of main loops"));
        put_longest(findings, &frames, N_("The latest frames"));
        put_longest(findings, &others, N_("The longest slices, each name once"));
}

int report_findings(Bytes *page,
                    const ReportContent *content,
                    const char *(*translate)(const char *)) {
        Findings findings = { .page = page, .content = content, .translate = translate };

        put_losses(&findings);
        put_slices(&findings);
        put_programs(&findings);
        return findings.error;
}
