/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point folders: all files of points.d
 *
 * What is in these files is done to other users' programs, so only root's files count, and such as nobody else can
 * write. A file of an earlier folder replaces those of its name in later ones; an empty one says that there is nothing.
 */

#include "host/probe.h"
#include "probes/points/point-file.h"

#define POINT_FILES_MAX 128

/* 0 or -ENOMEM. Everything else is a note. */
int point_folders_read(PointTable *ret, ProbeNotes *notes);
