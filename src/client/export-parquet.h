/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export Parquet: rows as a file of columns, for engines that read many of them
 */

#include "client/export.h"

int export_parquet(Export *export);

/* What a statement answers, into the stream of the export. */
int export_parquet_rows(Export *export, const char *sql);
