/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * JSON into bytes
 *
 * Commas are added automatically; keys are our own constants. If memory runs out, `error` says so at the end.
 */

#include <stdbool.h>

#include "shared/bytes.h"

typedef struct ReportJson {
        Bytes bytes;
        bool needs_comma;
        int error; /* 0, or -ENOMEM */
} ReportJson;

void report_json_begin(ReportJson *json, const char *key, char bracket);
void report_json_end(ReportJson *json, char bracket);
/* At most n_max bytes of it, cut between characters. NULL is written as "". */
void report_json_text(ReportJson *json, const char *key, const char *text, size_t n_max);
void report_json_number(ReportJson *json, const char *key, int64_t number);
