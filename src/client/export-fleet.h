/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export fleet: a recording as files in a tree that the recordings of all machines share (docs/FLEET.md)
 *
 * DIRECTORY/TABLE/day=YYYY-MM-DD/machine=ID/TRACE.parquet. Engines for many files know such trees: the day and the
 * machine are columns, by which they skip files that a query does not need. Each row has the number of its
 * recording.
 */

#include "client/export.h"

#define FLEET_MACHINE_MAX 64 /* characters of a machine's name */

int export_fleet(Export *export);

bool export_fleet_has_table(const char *name);
/* Letters, digits, '-', '_' and '.', but no '.' at the beginning: a valid file name everywhere. */
bool export_fleet_is_machine(const char *name);
