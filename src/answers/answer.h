/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer: what a trace says to one question
 *
 * A question is a row of a table (AnswerDef): which parts of the trace it needs, which facts and which rows its answer
 * has, and the function that finds them. Facts are what a sentence is made of, rows what a table shows. Nothing
 * here prints or translates: a word (ANSWER_WORD) is ours and marked for that, and a text is the trace's and hostile.
 *
 * Times that a trace gives are arbitrary. All sums here end at INT64_MAX instead of going over it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"
#include "trace/trace-store.h"

typedef enum AnswerKind {
        ANSWER_TEXT,  /* of the trace */
        ANSWER_WORD,  /* of ours, constant */
        ANSWER_COUNT, /* a whole number */
        ANSWER_NS,    /* a duration */
        ANSWER_TIME,  /* of the trace, in ns since its beginning */
        ANSWER_SHARE, /* from 0 to 1 */
        ANSWER_REAL,
        ANSWER_PROBABILITY,
        ANSWER_BYTES,
} AnswerKind;

typedef struct AnswerColumn {
        const char *key;   /* for programs */
        const char *title; /* for people, untranslated; NULL: only for programs */
        AnswerKind kind;
} AnswerColumn;

typedef struct AnswerValue {
        bool is_there;
        int64_t number;
        double real;
        char *text;       /* owned */
        const char *word; /* constant */
} AnswerValue;

typedef struct Answer Answer;
typedef struct AnswerQuestion AnswerQuestion;

typedef struct AnswerDef {
        const char *name;
        const char *record; /* what a recording with an answer is made with */
        unsigned parts;     /* of the trace: TRACE_PART_… */
        unsigned options;   /* ANSWER_TAKES_… */
        const AnswerColumn *facts;
        size_t n_facts;
        const AnswerColumn *columns;
        size_t n_columns;
        /* 0, an outcome, or -ENOMEM. */
        int (*find)(Answer *answer, const AnswerQuestion *question);
} AnswerDef;

enum {
        ANSWER_TAKES_SLICE = 1 << 0,  /* may be about one slice, or all of a name */
        ANSWER_NEEDS_SLICE = 1 << 1,  /* is about one */
        ANSWER_TAKES_GROUPS = 1 << 2, /* by thread, program, or unit */
};

typedef enum AnswerGroup { ANSWER_BY_PROGRAM, ANSWER_BY_UNIT, ANSWER_BY_THREAD } AnswerGroup;

struct AnswerQuestion {
        const TraceStore *store;
        int64_t zero, last; /* when the trace begins, and ends */
        int64_t start, end; /* the range that is asked about, both within the trace */
        const char *slice;  /* a name, or an id in digits; or NULL */
        AnswerGroup group;
        size_t n_rows_max; /* further ones are counted; 0: all */
};

struct Answer {
        const AnswerDef *def;
        AnswerValue *facts;
        AnswerValue *cells; /* row by row */
        size_t n_rows, n_allocated, n_rows_max;
        size_t n_left_out; /* rows past n_rows_max */
        bool has_no_memory;
};

enum {
        _ANSWER_E_SUCCESS,
        ANSWER_E_NOTHING,  /* the trace has nothing of what the question is about in this range */
        ANSWER_E_NO_SLICE, /* there is no slice with this name or id */
};

/* 0, an outcome, or -ENOMEM; on an outcome there is no answer. */
int answer_find(Answer **ret, const AnswerDef *def, const AnswerQuestion *question);
/* An answer without facts and rows. 0, or -ENOMEM. */
int answer_new(Answer **ret, const AnswerDef *def, size_t n_rows_max);
Answer *answer_free(Answer *answer);
DEFINE_CLEANUP(Answer *, answer_free)

static inline const AnswerValue *answer_cell(const Answer *answer, size_t row, size_t column) {
        return &answer->cells[row * answer->def->n_columns + column];
}

/*
 * For those that find
 */

/* The cells of a further row; NULL: there are enough, or there is no memory. */
AnswerValue *answer_add_row(Answer *answer);

static inline void answer_set(AnswerValue *value, int64_t number) {
        *value = (AnswerValue){ .is_there = true, .number = number };
}

static inline void answer_set_real(AnswerValue *value, double real) {
        *value = (AnswerValue){ .is_there = true, .real = real };
}

static inline void answer_set_word(AnswerValue *value, const char *word) {
        *value = (AnswerValue){ .is_there = word != NULL, .word = word };
}

/* Copies it; NULL is nothing. */
void answer_set_text(Answer *answer, AnswerValue *value, const char *text);
/* A text of the trace; 0 is nothing. */
void answer_set_name(Answer *answer, AnswerValue *value, const TraceStore *store, uint32_t name);

/* part / whole, or nothing without a whole. */
void answer_set_share(AnswerValue *value, int64_t part, int64_t whole);
