/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace dir: the top directory of tracefs
 *
 * Reads what all instances share: the available events, their formats, the layout of pages. Nothing below it is changed
 * except our own instances, and definitions of probes that carry our prefix.
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

/* Finds where tracefs is mounted; if it is not mounted, mounts it if we may. 0, PROBE_E_REFUSED, -ENOMEM. */
int trace_dir_new(TraceDir **ret, char **ret_error);
TraceDir *trace_dir_free(TraceDir *dir);
DEFINE_CLEANUP(TraceDir *, trace_dir_free)

/* Reads a whole file. 0, PROBE_E_REFUSED: *ret_error (if not NULL) names the file, says why, and what to do. */
int trace_dir_read(const TraceDir *dir,
                   const char *file,
                   char **ret,
                   size_t *ret_n,
                   char **ret_error);

/* How the kernel lays out the pages of its rings. As trace_dir_read(). */
int trace_dir_read_layout(const TraceDir *dir, PageLayout *ret, char **ret_error);

/* For files below a directory of tracefs, whose path is only for the error text. */
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

/* What somebody looks at just now cannot be removed (EBUSY). Waits a moment for that, and counts down `n_waits`. False:
 * that is not why it failed, or it has been waited for long enough. */
#define TRACE_WAITS_MAX 50
bool trace_busy_wait(unsigned *n_waits, int error);

/* What a refusal is about. Writing has its own, with the value. */
typedef enum TraceAction {
        TRACE_OPEN,
        TRACE_READ,
        TRACE_MAKE,   /* an instance */
        TRACE_DEFINE, /* probes */
} TraceAction;

/* Sets an error text with what failed and what to do about it; `error` is an errno. Returns PROBE_E_REFUSED, or
 * -ENOMEM. */
int trace_refuse(char **ret_error,
                 TraceAction action,
                 const char *path,
                 const char *file,
                 int error);
