/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export Parquet: rows as a file of columns, for engines that read many of them
 */

#include "client/export.h"

int export_parquet(Export *export);

/* For export_each(): writes a row with a ParquetWriter, which has a column for each value. */
int export_parquet_take(Export *export, sqlite3_stmt *row, void *writer);
