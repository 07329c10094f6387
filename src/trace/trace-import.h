/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace import: from a file to a store
 *
 * What cannot be read is counted in the store's stats, by the reason: "trace_file_damaged" when the file ends
 * inside of a packet or goes on with something else, "tokenizer_malformed_packets", "clock_sync_failure",
 * "trace_memory_limit_reached".
 */

#include "trace/trace-store.h"

/* Reads the parts (TRACE_PART_…) from a descriptor, to its end, and takes at most about n_bytes_max of memory. 0,
 * or an errno; -EBADMSG: there is no packet in it. */
int trace_import(TraceStore **ret, int fd, unsigned parts, uint64_t n_bytes_max);

typedef struct TraceImportOptions {
        unsigned parts;       /* TRACE_PART_… */
        uint64_t n_bytes_max; /* about that much memory */
        /* Asked now and then; true: it is to stop. May be NULL. */
        bool (*stops)(void *user_data);
        void *user_data;
} TraceImportOptions;

/* Likewise, of several files: of one machine, with times of one clock. -ECANCELED: it was to stop. */
int trace_import_files(TraceStore **ret,
                       const int *fds,
                       size_t n_fds,
                       const TraceImportOptions *options);
