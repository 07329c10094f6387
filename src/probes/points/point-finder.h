/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Point finder: goes from the points that are wanted to probes in the files that programs have mapped
 */

#include "probes/points/mapped-files.h"
#include "probes/points/point-events.h"
#include "probes/points/point-selection.h"

#define POINT_PENDING_MAX 256 /* files between two batches */
#define POINT_USER_BATCHES \
        2 /* for the files of one user other than root, which may contain anything */
#define POINT_USER_FILES    16  /* for one such user in one batch */
#define POINT_USERS_BATCHES 10  /* for all such users together: one person may have many uids */
#define POINT_USERS_FILES   128 /* between two batches */
#define POINT_USERS_SITES   640 /* probes; the rest are for root's files */
#define POINT_SPLITS_MAX \
        16 /* batches that the kernel refused, and that were then tried again in halves */
#define POINT_BEGIN_NS_MAX UINT64_C(500000000) /* for the start; the rest is found afterwards */

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
        uid_t owners[POINT_BATCHES_MAX]; /* of the existing batches */
        unsigned n_splits;
        unsigned n_probes, n_files; /* that are probed */
        ProbeNotes *notes;          /* while somebody can take them */
        bool is_full;               /* that was said */
} PointFinder;

/* Returns 0 or -ENOMEM. */
int point_finder_init(PointFinder *finder, const PointSelection *selection);
void point_finder_deinit(PointFinder *finder);

/* First, at the start: finds everything that exists. A thread may do this while nobody else uses the finder. */
void point_finder_look(PointFinder *finder, uint64_t now_ns);
/* Then: places probes in what was found. */
void point_finder_begin(PointFinder *finder, PointEvents *events, ProbeNotes *notes);
/* Afterwards: finds what is new. Returns true if there is more to do now. */
bool point_finder_go_on(PointFinder *finder, uint64_t now_ns);
