/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Import of trace files into a store
 *
 * What cannot be read is counted in the store's stats, by reason: "trace_file_damaged" if the file ends inside of a
 * packet or continues with something else, "tokenizer_malformed_packets", "clock_sync_failure",
 * "trace_memory_limit_reached".
 */

#include "trace/trace-store.h"

/* Reads the parts (TRACE_PART_…) from a descriptor, to its end, and uses at most about n_bytes_max of memory. 0, or
 * an errno; -EBADMSG: the file has no packet. */
int trace_import(TraceStore **ret, int fd, unsigned parts, uint64_t n_bytes_max);

typedef struct TraceImportOptions {
        unsigned parts;       /* TRACE_PART_… */
        uint64_t n_bytes_max; /* memory limit, roughly */
        /* Asked now and then; true stops the import. May be NULL. */
        bool (*stops)(void *user_data);
        void *user_data;
} TraceImportOptions;

/* Likewise for several files: from one machine, with times of one clock. -ECANCELED: stops() returned true. */
int trace_import_files(TraceStore **ret,
                       const int *fds,
                       size_t n_fds,
                       const TraceImportOptions *options);
