/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point file: one file of points.d
 *
 * Sections with "Key=Value" lines, and comments that begin with "#" or ";":
 *
 *     [Points]                     for all points of the file that do not say it themselves
 *     Group=gtk
 *     Library=libgtk-4.so.1
 *
 *     [Point render]
 *     Symbol=gsk_renderer_render
 *     Means=slice
 *
 * docs/DESKTOP.md lists the keys. A line that cannot be understood is reported with its number. An unknown key is
 * passed over, so that newer files work; a point with a mistake is left out; the rest of the file counts.
 */

#include "host/probe.h"
#include "probes/points/point.h"

#define POINT_FILE_BYTES_MAX 65536
#define POINTS_MAX           512 /* of all files together */

typedef struct PointTable {
        Point *points;
        size_t n_points, n_allocated;
} PointTable;

/* `file` is for messages. Adds the points to the table. Returns 0 or -ENOMEM. */
int point_file_parse(PointTable *table, const char *file, const char *text, ProbeNotes *notes);
void point_table_deinit(PointTable *table);
