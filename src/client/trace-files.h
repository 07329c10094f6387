/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace files: the files of a command line, opened so that they can be read again
 */

#include <glib.h>

#include "client/exit-status.h"
#include "query/query.h"

typedef struct TraceFiles {
        int fds[QUERY_FILES_MAX];
        size_t n;
        char *name; /* the name of the first, made safe to print */
} TraceFiles;

/* "-" is stdin, which is copied to a file without a name if it is a pipe. Reports errors. */
ExitStatus trace_files_open(TraceFiles *files, char *const *paths, size_t n_paths);
void trace_files_close(TraceFiles *files);

/* Opens the files and reads these parts of them. Reports errors, but even then the query and the files are the
 * caller's. */
ExitStatus trace_files_load(TraceFiles *files,
                            Query **ret,
                            char *const *paths,
                            size_t n_paths,
                            unsigned parts,
                            const QueryOptions *options);

/* Loads the parts of files that are read as one, has `use` print its results, and checks the files. */
ExitStatus trace_files_use(char *const *paths,
                           unsigned parts,
                           const QueryOptions *options,
                           ExitStatus (*use)(const Query *query, void *userdata),
                           void *userdata);

/* Reports what the outcome of a query means. */
ExitStatus trace_files_report(const TraceFiles *files, const Query *query, int r);

/* Whether the file, as far as it was read, is damaged or reports losses. Prints that, too. */
ExitStatus trace_files_check(const TraceFiles *files, const Query *query);
