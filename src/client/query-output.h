/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Query output: the rows of a statement
 *
 * As a table for people on stdout, or to any stream: as CSV (RFC 4180), as a JSON array of objects, or an object on
 * each line. Rows are printed as they come; only a table waits for its first QUERY_OUTPUT_LOOK rows, to know how wide
 * the columns are.
 */

#include <sqlite3.h>
#include <stdio.h>

#include "client/json-writer.h"
#include "query/query.h"

#define QUERY_OUTPUT_LOOK      200
#define QUERY_OUTPUT_WIDTH_MAX 60 /* of a cell of a table */

typedef enum QueryFormat {
        QUERY_FORMAT_TABLE,
        QUERY_FORMAT_CSV,
        QUERY_FORMAT_JSON,
        QUERY_FORMAT_JSON_LINES,
} QueryFormat;

typedef struct QueryOutput {
        QueryFormat format;
        JsonMode json;
        bool has_legend;
        FILE *stream; /* NULL: stdout */
} QueryOutput;

/* Steps through the statement. QUERY_E_DONE, or what stopped it. */
int query_output_run(const QueryOutput *output, Query *query, sqlite3_stmt *statement);
