/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer output: an answer for people, as sentences and a table, or for programs
 */

#include "answers/answer.h"
#include "client/json-writer.h"

/* Sentences and the table, on stdout. */
void answer_print(const Answer *answer, bool has_legend);

/* An object, with the range of the question unless that is NULL. Its members are documented in desktrace(1) and only
 * ever added to. */
void answer_print_json(const Answer *answer, const AnswerQuestion *question, JsonMode mode);

/* The members that are the facts, and the array of the rows, of which at most this number is shown (0: all); those left
 * out are counted in KEY_left_out. For objects that have more than one answer. */
void answer_json_facts(JsonWriter *writer, const Answer *answer);
void answer_json_rows(JsonWriter *writer, const char *key, const Answer *answer, size_t n_rows_max);
