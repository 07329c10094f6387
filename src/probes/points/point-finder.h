/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point finder: from the points that are wanted to probes in the files that programs have mapped
 */

#include "probes/points/mapped-files.h"
#include "probes/points/point-events.h"
#include "probes/points/point-selection.h"

#define POINT_PENDING_MAX 256 /* files between two batches */
#define POINT_USER_BATCHES \
        2 /* for the files of one user other than root: they may contain anything */
#define POINT_USER_FILES    16 /* for one such user in one batch */
#define POINT_USERS_BATCHES 10 /* for all such users together: one person may have very many uids */
#define POINT_USERS_FILES   128 /* between two batches */
#define POINT_USERS_SITES   640 /* probes; the rest are for root's files */
#define POINT_SPLITS_MAX \
        16 /* batches that the kernel refused, and that were tried again in halves */
#define POINT_BEGIN_NS_MAX UINT64_C(500000000) /* that the start takes; more is found afterwards */

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
        uid_t owners[POINT_BATCHES_MAX]; /* of the batches that there are */
        unsigned n_splits;
        unsigned n_probes, n_files; /* that are probed */
        ProbeNotes *notes;          /* while there is anybody to take them */
        bool is_full;               /* that was said */
} PointFinder;

/* 0 or -ENOMEM. */
int point_finder_init(PointFinder *finder, const PointSelection *selection);
void point_finder_deinit(PointFinder *finder);

/* At the start: finds all that there is. It may be done on a thread, while nothing else is done with the finder. */
void point_finder_look(PointFinder *finder, uint64_t now_ns);
/* Then: places the probes in what was found. */
void point_finder_begin(PointFinder *finder, PointEvents *events, ProbeNotes *notes);
/* Afterwards: what has come. True if there is more to do now. */
bool point_finder_go_on(PointFinder *finder, uint64_t now_ns);
