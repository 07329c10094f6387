/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Output file: the file that a recording is written to
 *
 * A new file is created under its final name, so that it can be watched as it grows, and survives if we crash. An
 * existing file is never touched unless it is to be replaced: then the new one is written beside it, and takes its name
 * at the end. Pipes, devices, sockets and "-" (stdout) are written to directly.
 */

#include <stdbool.h>

#include "client/exit-status.h"
#include "client/output-relay.h"
#include "shared/macro.h"

typedef struct OutputFile {
        int fd;
        char *path;     /* display name; "-": stdout */
        char *new_path; /* beside the one to replace, or NULL */
        bool is_ours;   /* we have made the file: discarding it removes it */
        OutputRelay relay;
} OutputFile;

#define OUTPUT_FILE_INIT \
        { .fd = -1, .relay = OUTPUT_RELAY_INIT }

/* desktrace-DATE-TIME.pftrace; malloc'ed. */
char *output_file_default_path(void);

/* "x.pftrace" → "x-2.pftrace"; malloc'ed. */
char *output_file_numbered_path(const char *path, unsigned number);

/* `path` NULL: desktrace-DATE-TIME.pftrace in the current directory, or with a number if there is one already.
 * Returns 0, -EEXIST without `replace`, -EISDIR, -ENOTTY (a terminal), or another errno. */
int output_file_open(OutputFile *output, const char *path, bool replace);

/* Whether nothing was written to a file of ours. */
bool output_file_is_empty(const OutputFile *output);

/* Whether something was written to it. Both are false for pipes and for files that are not ours. */
bool output_file_has_data(const OutputFile *output);

/* Reports why opening failed. */
ExitStatus output_file_say_error(const OutputFile *output, int r);

/* Keeps the file, once the service has closed it. Returns 0 or an errno. */
int output_file_commit(OutputFile *output);

/* Likewise, and reports errors. */
ExitStatus output_file_keep(OutputFile *output);

/* Removes everything that was not there before, and closes the file; does nothing after a commit. */
void output_file_deinit(OutputFile *output);
