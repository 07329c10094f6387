/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Inspect: prints a trace summary, for people and for programs
 */

#include <stdio.h>

#include "client/heap-report.h"
#include "client/json-writer.h"
#include "client/stack-report.h"
#include "client/trace-summary.h"

#define INSPECT_ROWS_DEFAULT 15

typedef struct InspectOptions {
        size_t n_rows_max; /* rows of each table; 0: all */
        bool has_legend;
        const StackReport *stacks; /* or NULL */
        const HeapReport *heaps;   /* or NULL */
} InspectOptions;

/* Prints everything, as tables, on stdout. */
void inspect_print(const TraceSummary *summary, const char *name, const InspectOptions *options);

/* Prints only the lines about losses. */
void inspect_print_losses(const TraceSummary *summary, FILE *stream);

/* Writes the members of an object that the caller begins and ends. Their names are documented in desktrace(1) and
 * only ever added to. */
void inspect_write_json(JsonWriter *writer, const TraceSummary *summary, const char *name);

/* The config in text format, malloc'ed, or NULL. */
char *inspect_config_text(const TraceSummary *summary);

/* Orders, largest first. */
int inspect_compare_threads(gconstpointer a, gconstpointer b);
int inspect_compare_processes(gconstpointer a, gconstpointer b);
int inspect_compare_slices(gconstpointer a, gconstpointer b);
int inspect_compare_producers(gconstpointer a, gconstpointer b);
int inspect_compare_counters(gconstpointer a, gconstpointer b);
int inspect_compare_counts(gconstpointer a, gconstpointer b);
