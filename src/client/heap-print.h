/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Heap print: a heap report, for people and for programs
 */

#include <stdbool.h>

#include "client/heap-report.h"
#include "client/json-writer.h"

/* On stdout; n_rows_max of each table at most, 0: all. */
void heap_report_print(const HeapReport *report, size_t n_rows_max, bool has_legend);
/* Writes the member "heaps" of an object, or nothing if there is no report. */
void heap_report_write_json(const HeapReport *report, JsonWriter *writer);
