/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Parts of lists: what "desktrace list" is made of, the options that all lists share, and cells of several words
 */

#include "client/bus-client.h"
#include "client/json-writer.h"
#include "client/table.h"

/* What a list is made of: columns for people, objects for programs. */
typedef struct ListKind {
        const char *name;
        const TableColumn *columns;
        size_t n_columns;
        ExitStatus (*get)(GArray **ret, const BusClient *client); /* NULL: needs no service */
        size_t n_item;
        size_t name_offset; /* of the char * that a GLOB is compared with, which may be NULL */
        void (*add_row)(Table *table, const void *item);
        void (*write)(JsonWriter *writer, const void *item);
        /* Looks up more about the entries that are left, and returns how many columns that fills; or NULL. */
        ExitStatus (*describe)(size_t *n_columns, GArray *list, const Invocation *invocation);
} ListKind;

#define COLUMNS(columns) (columns), ARRAY_SIZE(columns)

/* The options of "list": --sources, --no-start, --long. */
extern const GOptionEntry list_options[];

/* Whether the list of data sources is asked for by option. */
bool list_is_of_sources(void);

/* Whether producers may be started to be asked. */
bool list_may_start(void);

/* Whether more than names was asked for. */
bool list_is_long(void);

/* A cell of several words, "-" for none. */
void list_add_strings(Table *table, char *const *strings);

/* Other programs' names may hold anything that a string can. */
void list_write_string(JsonWriter *writer, const char *key, const char *value);
void list_write_strings(JsonWriter *writer, const char *key, char *const *strings);
