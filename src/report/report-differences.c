/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Differences: tables of how the two recordings of a page differ */

#include "report/report-differences.h"

#include <inttypes.h>
#include <stdio.h>

#include "answers/answer-slices.h"
#include "answers/answer-time.h"
#include "answers/comparison.h"
#include "report/report-html.h"
#include "shared/utf8.h"

const char *const report_side_suffixes[REPORT_SIDES] = { "-a", "-b" };

static const unsigned shown[] = {
        DIFF_COLUMN_NAME, DIFF_COLUMN_A, DIFF_COLUMN_B, DIFF_COLUMN_CHANGE, DIFF_COLUMN_VERDICT,
};

typedef struct Table {
        Bytes *page;
        const ReportPair *pair;
        const ReportOptions *options;
        int64_t start_ns[REPORT_SIDES]; /* of the recordings: times in links count from it */
        bool has_slices;                /* names are those of slices */
        int error;
} Table;

static void put(Table *table, const char *html) {
        int r = bytes_append(table->page, html, strlen(html));

        if (r != 0)
                table->error = r;
}

static void put_text(Table *table, const char *text) {
        int r = report_html_text(table->page, text);

        if (r != 0)
                table->error = r;
}

static void put_word(Table *table, const char *text) {
        put_text(table, table->options->translate ? table->options->translate(text) : text);
}

/* Links to the longest slice of a name. Returns false if this side has none. */
static bool begin_link(Table *table, unsigned side, const char *name) {
        _cleanup_(freep) char *named = answer_slice_named(name);
        AnswerQuestion question = { .store = table->pair->stores[side], .slice = named };
        int64_t from, to;
        uint32_t row;
        char text[256];

        if (!answer_time_bounds(question.store, &question.zero, &question.last))
                return false;
        question.start = question.zero;
        question.end = question.last;
        row = answer_slice_find(&question);
        if (row == TRACE_NONE)
                return false;
        from = time_since(answer_slice_ts(question.store, row), table->start_ns[side]);
        to = time_since(answer_slice_end(&question, row), table->start_ns[side]);
        snprintf(text,
                 sizeof(text),
                 "<a href=\"#picture%s\" data-side=\"%s\" data-from=\"%" PRId64
                 "\" data-to=\"%" PRId64 "\" data-track=\"%" PRIu32 "\">",
                 report_side_suffixes[side],
                 report_side_suffixes[side],
                 from,
                 to,
                 trace_table_get(&question.store->tables[TRACE_TABLE_SLICE], SLICE_TRACK, row));
        put(table, text);
        return true;
}

static void put_value(Table *table, const Answer *answer, size_t row, unsigned column) {
        const AnswerValue *value = answer_cell(answer, row, column);
        _cleanup_(freep) char *text = table->pair->format(value, answer->def->columns[column].kind);

        put_text(table, text);
}

static void put_cell(Table *table, const Answer *answer, size_t row, unsigned column) {
        const char *name = answer_cell(answer, row, DIFF_COLUMN_NAME)->text;
        bool is_linked = false;

        put(table,
            column == DIFF_COLUMN_NAME || column == DIFF_COLUMN_VERDICT ? "<td>"
                                                                        : "<td class=\"number\">");
        if (table->has_slices && name && (column == DIFF_COLUMN_A || column == DIFF_COLUMN_B))
                is_linked = begin_link(table, column - DIFF_COLUMN_A, name);
        put_value(table, answer, row, column);
        put(table, is_linked ? "</a></td>" : "</td>");
}

static void put_heads(Table *table, const Answer *answer) {
        put(table, "<tr>");
        for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
                put(table, "<th scope=\"col\">");
                put_word(table, answer->def->columns[shown[i]].title);
                put(table, "</th>");
        }
        put(table, "</tr>\n");
}

static void put_sentences(Table *table, const Answer *answer) {
        _cleanup_(freep) char *text = table->options->tell ? table->options->tell(answer) : NULL;
        char *rest = text, *line;

        while ((line = strsep(&rest, "\n")))
                if (*line) {
                        put(table, "<p>");
                        put_text(table, line);
                        put(table, "</p>\n");
                }
}

static void put_answer(Table *table, const Answer *answer, const char *title) {
        if (table->has_slices)
                put_sentences(table, answer);
        if (answer->n_rows == 0)
                return;
        put(table, "<table><caption>");
        put_word(table, title);
        put(table, "</caption>\n<thead>");
        put_heads(table, answer);
        put(table, "</thead><tbody>\n");
        for (size_t row = 0; row < answer->n_rows; row++) {
                put(table, "<tr>");
                for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
                        put_cell(table, answer, row, shown[i]);
                put(table, "</tr>\n");
        }
        put(table, "</tbody></table>\n");
}

static const char *const titles[] = {
        N_("How long slices usually took, by name; a value leads to the longest one"),
        N_("CPU time for each second, by program"),
        N_("What heaps hold at the end, by call stack"),
};

static void put_all(Table *table) {
        put(table,
            "<section id=\"differences\" aria-labelledby=\"differences-title\">\n"
            "<h2 id=\"differences-title\">");
        put_word(table, N_("What differs"));
        put(table, "</h2>\n<p>A: ");
        put_text(table, table->pair->titles[0]);
        put(table, "<br>B: ");
        put_text(table, table->pair->titles[1]);
        put(table, "</p>\n");
        for (size_t i = 0; i < MIN(table->pair->n_differences, ARRAY_SIZE(titles)); i++) {
                table->has_slices = i == 0;
                put_answer(table, table->pair->differences[i], titles[i]);
        }
        put(table, "<form><label><input type=\"checkbox\" id=\"together\" checked> ");
        put_word(table, N_("Move and zoom both pictures together"));
        put(table, "</label></form>\n</section>\n");
}

int report_differences(Bytes *page, const ReportPair *pair, const ReportOptions *options) {
        Table table = { .page = page, .pair = pair, .options = options };
        int64_t end;

        for (size_t i = 0; i < REPORT_SIDES; i++)
                if (!trace_store_bounds(pair->stores[i], &table.start_ns[i], &end))
                        table.start_ns[i] = 0;
        put_all(&table);
        return table.error;
}
