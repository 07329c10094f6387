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

/* Writes the members for the facts, and the array of at most this many rows (0: all); rows that are left out are
 * counted in KEY_left_out. For objects with more than one answer. */
void answer_json_facts(JsonWriter *writer, const Answer *answer);
void answer_json_rows(JsonWriter *writer, const char *key, const Answer *answer, size_t n_rows_max);
