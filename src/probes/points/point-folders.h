/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point folders: all files of points.d
 *
 * What these files ask for is done to other users' programs. So only root's files count, and only those that nobody
 * else can write to. A file in an earlier folder replaces files of the same name in later ones. An empty file says that
 * there are no such points.
 */

#include "host/probe.h"
#include "probes/points/point-file.h"

#define POINT_FILES_MAX 128

/* Returns 0 or -ENOMEM. Everything else is a note. */
int point_folders_read(PointTable *ret, ProbeNotes *notes);
