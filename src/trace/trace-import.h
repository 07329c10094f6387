/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Import of trace files into a store
 *
 * What cannot be read is counted in the store's stats, by reason: "trace_file_damaged" if the file ends inside of a
 * packet or continues with something that is no packet, "tokenizer_malformed_packets", "clock_sync_failure",
 * "trace_memory_limit_reached".
 */

#include "trace/trace-store.h"

/* Reads these parts (TRACE_PART_…) from a descriptor, up to its end, and uses at most about n_bytes_max of memory.
 * Returns 0 or an errno, with -EBADMSG for a file without a packet. */
int trace_import(TraceStore **ret, int fd, unsigned parts, uint64_t n_bytes_max);

typedef struct TraceImportOptions {
        unsigned parts;          /* TRACE_PART_… */
        uint32_t sched_left_out; /* bits of SCHED_…: columns that need not be filled */
        uint64_t n_bytes_max;    /* memory limit, roughly */
        /* The import calls this now and then, and stops if it returns true. May be NULL. */
        bool (*stops)(void *user_data);
        void *user_data;
} TraceImportOptions;

/* Likewise for several files that come from one machine and have times of the same clock. Returns -ECANCELED if
 * stops() returned true. */
int trace_import_files(TraceStore **ret,
                       const int *fds,
                       size_t n_fds,
                       const TraceImportOptions *options);
