/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Proc directory: files of processes, read into memory that is used again
 *
 * Processes vanish at any time, and may be hidden (hidepid). So a file that cannot be read is NULL, and never an error.
 */

#include <dirent.h>
#include <sys/types.h>

#include "shared/bytes.h"

#define PROC_FILE_BYTES_MAX (64u << 10) /* of one file; the rest is not read */

typedef struct ProcDir {
        int fd;
        Bytes text;
} ProcDir;

/* Opens "/proc", or a copy of it. Returns 0 or a negative errno. */
int proc_dir_open(ProcDir *ret, const char *path);
void proc_dir_close(ProcDir *dir);

/* The text of PID/FILE, valid until the next call, or NULL if there is no such file. The text may contain NULs, and
 * one follows it. */
const char *proc_dir_read(ProcDir *dir, pid_t pid, const char *file, size_t *ret_n);
/* The same, but no more than the first n_max bytes. */
const char *
proc_dir_read_some(ProcDir *dir, pid_t pid, const char *file, size_t n_max, size_t *ret_n);

/* Walks over all processes (pid 0), or over the threads of one. proc_walk_next() returns 0 at the end. */
typedef struct ProcWalk {
        DIR *dir;
} ProcWalk;

void proc_walk_begin(ProcWalk *walk, ProcDir *dir, pid_t pid);
pid_t proc_walk_next(ProcWalk *walk);
void proc_walk_end(ProcWalk *walk);
