/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace dir: the top directory of tracefs
 *
 * Reads what all instances share: the available events, their formats, and the layout of pages. Nothing below it is
 * changed except our own instances, and probe definitions that carry our prefix.
 */

#include <stdbool.h>
#include <stddef.h>

#include "probes/ftrace/page.h"
#include "shared/macro.h"

#define TRACE_FILE_BYTES_MAX (16u << 20)

typedef struct TraceDir {
        char *path;
        int fd;
} TraceDir;

/* Finds where tracefs is mounted, or mounts it if it is allowed to. Returns 0, PROBE_E_REFUSED or -ENOMEM. */
int trace_dir_new(TraceDir **ret, char **ret_error);
TraceDir *trace_dir_free(TraceDir *dir);
DEFINE_CLEANUP(TraceDir *, trace_dir_free)

/* Reads a whole file. Returns 0, or PROBE_E_REFUSED, with *ret_error (if not NULL) naming the file, the reason, and
 * what to do. */
int trace_dir_read(const TraceDir *dir,
                   const char *file,
                   char **ret,
                   size_t *ret_n,
                   char **ret_error);

/* How the kernel lays out the pages of its rings. Returns the same as trace_dir_read(). */
int trace_dir_read_layout(const TraceDir *dir, PageLayout *ret, char **ret_error);

/* For files below a directory of tracefs, whose path is only needed for the error text. */
int trace_file_read(int dir_fd,
                    const char *path,
                    const char *file,
                    char **ret,
                    size_t *ret_n,
                    char **ret_error);
int trace_file_write(int dir_fd,
                     const char *path,
                     const char *file,
                     const char *value,
                     char **ret_error);

/* What somebody is looking at cannot be removed (EBUSY). Waits a moment for that, and counts down `n_waits`. Returns
 * false if the failure has another reason, or if it has waited long enough. */
#define TRACE_WAITS_MAX 50
bool trace_busy_wait(unsigned *n_waits, int error);

/* What a refusal is about. Writing has its own text, with the value. */
typedef enum TraceAction {
        TRACE_OPEN,
        TRACE_READ,
        TRACE_MAKE,   /* an instance */
        TRACE_DEFINE, /* probes */
} TraceAction;

/* Sets an error text that says what failed and what to do about it; `error` is an errno. Returns PROBE_E_REFUSED or
 * -ENOMEM. */
int trace_refuse(char **ret_error,
                 TraceAction action,
                 const char *path,
                 const char *file,
                 int error);
