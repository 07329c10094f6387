/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point finder: from the points that are wanted to probes in the files that programs have mapped
 */

#include "probes/points/mapped-files.h"
#include "probes/points/point-events.h"
#include "probes/points/point-selection.h"

#define POINT_PENDING_MAX  64 /* files between two batches */
#define POINT_USER_BATCHES 2  /* of one user who is not root, whose files may be anything */
#define POINT_USER_FILES   16 /* of these in one batch */

typedef struct PendingFile {
        int fd;
        uid_t uid;
        char *path;
} PendingFile;

typedef struct PointFinder {
        const PointSelection *selection;
        PointEvents *events;
        MappedFiles mapped;
        PendingFile pending[POINT_PENDING_MAX];
        size_t n_pending;
        uid_t owners[POINT_BATCHES_MAX]; /* of batches */
        size_t n_owners;
        unsigned n_probes, n_files; /* that are probed */
        ProbeNotes *notes;          /* while there is anybody to take them */
        bool is_full;               /* that was said */
} PointFinder;

/* 0 or -ENOMEM. */
int point_finder_init(PointFinder *finder, const PointSelection *selection, PointEvents *events);
void point_finder_deinit(PointFinder *finder);

/* At the start: all that there is. */
void point_finder_begin(PointFinder *finder, ProbeNotes *notes, uint64_t now_ns);
/* Afterwards: what has come. True if there is more to do now. */
bool point_finder_go_on(PointFinder *finder, uint64_t now_ns);
