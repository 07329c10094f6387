/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Answer: what a trace says about one question
 *
 * A question is a row of a table (AnswerDef): the parts of the trace that it needs, the facts and rows of its answer,
 * and the function that finds them. Sentences are made of facts, tables of rows. Nothing here prints or translates: a
 * word (ANSWER_WORD) is ours and marked for translation, while a text is from the trace and hostile.
 *
 * Times in a trace are arbitrary. All sums here saturate at INT64_MAX.
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
        ANSWER_TIME,  /* trace time: ns since the trace began */
        ANSWER_SHARE, /* from 0 to 1 */
        ANSWER_REAL,
        ANSWER_PROBABILITY,
        ANSWER_BYTES,
} AnswerKind;

typedef struct AnswerColumn {
        const char *key;   /* for programs */
        const char *title; /* for people, untranslated; NULL: only programs see it */
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
        const char *record; /* how to make a recording that has an answer */
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
        ANSWER_TAKES_SLICE = 1 << 0,  /* may ask about one slice, or all of a name */
        ANSWER_NEEDS_SLICE = 1 << 1,  /* is about one */
        ANSWER_TAKES_GROUPS = 1 << 2, /* by thread, program, or unit */
};

typedef enum AnswerGroup { ANSWER_BY_PROGRAM, ANSWER_BY_UNIT, ANSWER_BY_THREAD } AnswerGroup;

struct AnswerQuestion {
        const TraceStore *store;
        int64_t zero, last; /* the beginning and the end of the trace */
        int64_t start, end; /* the range that the question is about; lies within the trace */
        const char *slice;  /* a name, or an id in digits; or NULL */
        AnswerGroup group;
        size_t n_rows_max; /* further rows are only counted; 0: no limit */
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
        ANSWER_E_NOTHING,  /* in this range the trace has no data that the question needs */
        ANSWER_E_NO_SLICE, /* no slice has this name or id */
};

/* Returns 0, an outcome, or -ENOMEM; an outcome comes without an answer. */
int answer_find(Answer **ret, const AnswerDef *def, const AnswerQuestion *question);
/* An empty answer. Returns 0, or -ENOMEM. */
int answer_new(Answer **ret, const AnswerDef *def, size_t n_rows_max);
Answer *answer_free(Answer *answer);
DEFINE_CLEANUP(Answer *, answer_free)

static inline const AnswerValue *answer_cell(const Answer *answer, size_t row, size_t column) {
        return &answer->cells[row * answer->def->n_columns + column];
}

/*
 * For the functions that find answers
 */

/* The cells of a new row; NULL: there are enough rows, or there is no memory. */
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

/* Copies the text; NULL leaves the cell empty. */
void answer_set_text(Answer *answer, AnswerValue *value, const char *text);
/* A text of the trace; 0 leaves the cell empty. */
void answer_set_name(Answer *answer, AnswerValue *value, const TraceStore *store, uint32_t name);

/* part / whole; empty if the whole is 0. */
void answer_set_share(AnswerValue *value, int64_t part, int64_t whole);
