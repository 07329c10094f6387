/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Answer: what a trace says about one question */

#include "answers/answer.h"

#include <errno.h>
#include <string.h>

#include "trace/trace-map.h"

int answer_new(Answer **ret, const AnswerDef *def, size_t n_rows_max) {
        _cleanup_(answer_freep) Answer *answer = calloc(1, sizeof(*answer));

        if (!answer)
                return -ENOMEM;
        answer->def = def;
        answer->n_rows_max = n_rows_max;
        answer->facts = calloc(MAX(def->n_facts, (size_t)1), sizeof(*answer->facts));
        if (!answer->facts)
                return -ENOMEM;
        *ret = TAKE(answer);
        return 0;
}

int answer_find(Answer **ret, const AnswerDef *def, const AnswerQuestion *question) {
        _cleanup_(answer_freep) Answer *answer = NULL;
        int r = answer_new(&answer, def, question->n_rows_max);

        if (r)
                return r;
        r = def->find(answer, question);
        if (r == 0 && answer->has_no_memory)
                r = -ENOMEM;
        if (r == 0)
                *ret = TAKE(answer);
        return r;
}

Answer *answer_free(Answer *answer) {
        if (!answer)
                return NULL;

        for (size_t i = 0; answer->facts && i < answer->def->n_facts; i++)
                free(answer->facts[i].text);
        for (size_t i = 0; i < answer->n_rows * answer->def->n_columns; i++)
                free(answer->cells[i].text);
        free(answer->facts);
        free(answer->cells);
        free(answer);
        return NULL;
}

AnswerValue *answer_add_row(Answer *answer) {
        size_t n_columns = answer->def->n_columns, n = answer->n_rows * n_columns;

        if (answer->n_rows_max && answer->n_rows == answer->n_rows_max) {
                answer->n_left_out++;
                return NULL;
        }
        if (trace_reserve((void **)&answer->cells,
                          &answer->n_allocated,
                          n + n_columns,
                          sizeof(*answer->cells))) {
                answer->has_no_memory = true;
                return NULL;
        }
        memset(&answer->cells[n], 0, n_columns * sizeof(*answer->cells));
        answer->n_rows++;
        return &answer->cells[n];
}

void answer_set_text(Answer *answer, AnswerValue *value, const char *text) {
        char *copy = text ? strdup(text) : NULL;

        if (text && !copy)
                answer->has_no_memory = true;
        *value = (AnswerValue){ .is_there = copy != NULL, .text = copy };
}

void answer_set_name(Answer *answer, AnswerValue *value, const TraceStore *store, uint32_t name) {
        answer_set_text(answer, value, trace_pool_text(&store->pool, name));
}

void answer_set_share(AnswerValue *value, int64_t part, int64_t whole) {
        if (whole > 0)
                answer_set_real(value, (double)part / (double)whole);
}
