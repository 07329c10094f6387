/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Cgroup reader: the files of cgroups, most of which stay open
 *
 * Reading an open file costs a third of opening and reading it. But an open file takes 4.5 KiB of the kernel's memory,
 * and a descriptor. All readers together have a share of the descriptors, and files beyond that are opened each time.
 * One thread uses all readers.
 */

#include <stddef.h>
#include <stdint.h>

#include "probes/system/cgroup-files.h"

#define CGROUP_FDS_MAX      4096 /* open at once in all instances; fewer where RLIMIT_NOFILE is low */
#define CGROUP_TEXT_BYTES   16384 /* of a file; the rest is not read */
#define CGROUP_RETRY_ROUNDS 8     /* a missing file is tried again once in this many rounds */

/* The open files of one cgroup. */
typedef struct CgroupFds {
        int fds[_CGROUP_FILE_N]; /* -1: not open */
        uint32_t missing;        /* bits: the files that were missing when they were looked for */
} CgroupFds;

typedef struct CgroupReader {
        int root;         /* borrowed: the directory where paths begin */
        uint32_t wanted;  /* bits: which files */
        size_t n_fds_max; /* of all readers */
        unsigned round;   /* counts samples */
        char text[CGROUP_TEXT_BYTES];
} CgroupReader;

void cgroup_reader_init(CgroupReader *reader, int root, uint32_t wanted);

void cgroup_fds_init(CgroupFds *fds);
void cgroup_fds_close(CgroupFds *fds);

/* Reads those of the cgroup's files that exist. */
void cgroup_reader_read(CgroupReader *reader, CgroupFds *fds, const char *path, CgroupReading *ret);
