/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export tables: rows of the trace's tables, as text or as a database
 */

#include "client/export.h"

int export_csv(Export *export);
int export_jsonl(Export *export);
int export_sqlite(Export *export);

/* The requested statement, for a format with one table. Malloc'ed. */
char *export_select(const Export *export);
