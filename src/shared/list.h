/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Intrusive doubly linked list
 *
 * A List is both the head of a list and the link inside an element. A link that is in no list
 * points at itself, so that list_unlink() may be called on it any number of times.
 */

#include <stdbool.h>

#include "shared/macro.h"

typedef struct List List;

struct List {
        List *next;
        List *previous;
};

#define LIST_INIT(_x) \
        { .next = &(_x), .previous = &(_x) }

static inline void list_init(List *list) {
        list->next = list;
        list->previous = list;
}

static inline bool list_is_empty(const List *list) {
        return list->next == list;
}

/* Whether a link is in some list. */
static inline bool list_is_linked(const List *link) {
        return link->next != link;
}

static inline void list_append(List *list, List *link) {
        link->next = list;
        link->previous = list->previous;
        list->previous->next = link;
        list->previous = link;
}

/* Puts `link` in front of `before`, which may be a list's head. */
static inline void list_insert_before(List *before, List *link) {
        list_append(before, link);
}

static inline void list_unlink(List *link) {
        link->previous->next = link->next;
        link->next->previous = link->previous;
        list_init(link);
}

#define list_entry(link, type, member) container_of(link, type, member)

#define list_first(list, type, member) \
        (list_is_empty(list) ? NULL : list_entry((list)->next, type, member))

#define LIST_UNIQUE_(name, line) name##line
#define LIST_UNIQUE(name, line)  LIST_UNIQUE_(name, line)

/* The element `at` may be unlinked and freed in the loop. Loops may be nested. */
#define list_for_each(at, list, member) \
        list_for_each_(at, list, member, LIST_UNIQUE(_next, __LINE__))

#define list_for_each_(at, list, member, next_)                                              \
        for (__typeof__(at) next_ = (at = list_entry((list)->next, __typeof__(*at), member), \
                                    list_entry(at->member.next, __typeof__(*at), member));   \
             &at->member != (list);                                                          \
             at = next_, next_ = list_entry(at->member.next, __typeof__(*at), member))
