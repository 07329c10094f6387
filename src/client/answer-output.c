/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer output: an answer for people, as sentences and a table, or for programs */

#include "client/answer-output.h"

#include <glib/gi18n.h>
#include <stdio.h>

#include "client/answer-sentences.h"
#include "client/answer-text.h"
#include "client/table.h"

static bool column_is_empty(const Answer *answer, size_t column) {
        for (size_t row = 0; row < answer->n_rows; row++)
                if (answer_cell(answer, row, column)->is_there)
                        return false;
        return true;
}

/* Which columns are shown; those without a title are for programs. */
static size_t choose_columns(const Answer *answer, TableColumn *ret, size_t *ret_numbers) {
        size_t n = 0;

        for (size_t i = 0; i < answer->def->n_columns && n < TABLE_COLUMNS_MAX; i++) {
                const AnswerColumn *column = &answer->def->columns[i];

                if (!column->title || column_is_empty(answer, i))
                        continue;
                ret[n] = (TableColumn){ .title = column->title,
                                        .is_number = column->kind != ANSWER_TEXT &&
                                                     column->kind != ANSWER_WORD };
                ret_numbers[n++] = i;
        }
        return n;
}

static void print_table(const Answer *answer, bool has_legend) {
        TableColumn columns[TABLE_COLUMNS_MAX] = { 0 };
        size_t numbers[TABLE_COLUMNS_MAX], n = choose_columns(answer, columns, numbers);
        _cleanup_(table_deinit) Table table = { 0 };

        table_init(&table, columns, n);
        for (size_t row = 0; row < answer->n_rows; row++)
                for (size_t i = 0; i < n; i++) {
                        g_autofree char *text =
                                answer_value_text(answer_cell(answer, row, numbers[i]),
                                                  answer->def->columns[numbers[i]].kind);

                        table_add(&table, text);
                }
        if (n)
                table_print(&table, has_legend);
}

void answer_print(const Answer *answer, bool has_legend) {
        if (has_legend) {
                g_autofree char *sentences = answer_sentences(answer);

                fputs(sentences, stdout);
        }
        if (answer->n_rows == 0)
                return;
        if (has_legend)
                putchar('\n');
        print_table(answer, has_legend);
        if (has_legend && answer->n_left_out)
                printf(_("(rows that are not shown: %zu; --top=0 shows all)\n"),
                       answer->n_left_out);
}

static void json_text(JsonWriter *writer, const char *key, const char *text) {
        g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;

        json_string(writer, key, valid);
}

static void json_value(JsonWriter *writer, const AnswerColumn *column, const AnswerValue *value) {
        if (!value->is_there)
                json_string(writer, column->key, NULL);
        else if (value->word || column->kind == ANSWER_TEXT || column->kind == ANSWER_WORD)
                json_text(writer, column->key, value->word ? value->word : value->text);
        else if (column->kind == ANSWER_SHARE || column->kind == ANSWER_REAL ||
                 column->kind == ANSWER_PROBABILITY)
                json_double(writer, column->key, value->real);
        else
                json_int(writer, column->key, value->number);
}

void answer_json_facts(JsonWriter *writer, const Answer *answer) {
        for (size_t i = 0; i < answer->def->n_facts; i++)
                json_value(writer, &answer->def->facts[i], &answer->facts[i]);
}

void answer_json_rows(JsonWriter *writer,
                      const char *key,
                      const Answer *answer,
                      size_t n_rows_max) {
        size_t n = n_rows_max ? MIN(n_rows_max, answer->n_rows) : answer->n_rows;
        g_autofree char *left_out = g_strconcat(key, "_left_out", NULL);

        json_begin_array(writer, key);
        for (size_t row = 0; row < n; row++) {
                json_begin_object(writer, NULL);
                for (size_t i = 0; i < answer->def->n_columns; i++)
                        json_value(writer, &answer->def->columns[i], answer_cell(answer, row, i));
                json_end_object(writer);
        }
        json_end_array(writer);
        json_uint(writer, left_out, answer->n_left_out + answer->n_rows - n);
}

void answer_print_json(const Answer *answer, const AnswerQuestion *question, JsonMode mode) {
        _cleanup_(json_writer_deinit) JsonWriter writer = { 0 };

        json_writer_init(&writer, mode);
        json_begin_object(&writer, NULL);
        json_string(&writer, "question", answer->def->name);
        if (question) {
                json_int(&writer, "trace_start_ns", question->zero);
                json_int(&writer, "from_ns", question->start);
                json_int(&writer, "to_ns", question->end);
        }
        answer_json_facts(&writer, answer);
        answer_json_rows(&writer, "rows", answer, 0);
        json_end_object(&writer);
        json_writer_print(&writer);
}
