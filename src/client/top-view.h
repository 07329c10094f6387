/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Top view: one screen of `desktrace top`, or one object of its JSON
 */

#include "answers/answer-load.h"
#include "client/json-writer.h"

typedef struct TopView {
        Answer *load;        /* an answer_load; owned */
        Answer *ended;       /* an answer_ended, or NULL: there is no session; owned */
        int64_t zero;        /* the time of the boot clock from which the following count */
        int64_t from, to;    /* ns */
        char *when;          /* for people: the time of day, or that of a recording; owned */
        uint64_t n_lost;     /* pieces of programs' reports */
        const char *trouble; /* why `ended` is NULL, or NULL; not owned */
} TopView;

void top_view_deinit(TopView *view);

/* With at most this number of rows in each table; 0: all. */
void top_view_print_json(const TopView *view, JsonMode mode, size_t n_rows_max);
/* Likewise, for people: lines of any width. */
void top_view_print(const TopView *view, size_t n_rows_max, bool has_legend);
/* Draws over what is on the terminal, and no more than fits. `keys` is the last line, or NULL. */
void top_view_draw(const TopView *view, const char *keys);
