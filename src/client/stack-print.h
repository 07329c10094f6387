/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Stack print: a stack report, for people and for programs
 */

#include "client/json-writer.h"
#include "client/stack-report.h"

/* On stdout; n_rows_max of each table at most, 0: all. */
void stack_report_print(const StackReport *report, size_t n_rows_max, bool has_legend);
/* The member "stacks" of an object; nothing without a report. */
void stack_report_write_json(const StackReport *report, JsonWriter *writer);
