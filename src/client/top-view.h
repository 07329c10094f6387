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
        int64_t zero;        /* of the boot clock, that the following count from */
        int64_t from, to;    /* ns */
        char *when;          /* for people: the time of day, or that of a recording; owned */
        uint64_t n_lost;     /* pieces of what programs reported */
        const char *trouble; /* why `ended` is NULL, or NULL; not owned */
} TopView;

void top_view_deinit(TopView *view);

/* With at most this number of rows of each table, 0: all. */
void top_view_print_json(const TopView *view, JsonMode mode, size_t n_rows_max);
/* Likewise, for people: lines of any width. */
void top_view_print(const TopView *view, size_t n_rows_max, bool has_legend);
/* Over what is on the terminal, and no more than it has room for. `keys`: the last line, or NULL. */
void top_view_draw(const TopView *view, const char *keys);
