/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * SinkFile: one descriptor, as the thread that writes to it sees it
 *
 * Compresses, keeps within max_bytes, writes, and takes back in a regular file what could not be written whole: what
 * is there can always be read. Belongs to the sink's thread but for n_moved, which may be read by any.
 */

#include <stdatomic.h>
#include <sys/types.h>

#include "compress.h"
#include "output/output-ops.h"

/* Of max_bytes, kept for the packets that end a trace; of a small file no more than the share. */
#define SINK_END_BYTES (64u << 10)
#define SINK_END_SHARE 4

typedef struct SinkFile {
        int fd;
        int abandon; /* eventfd: ends a wait for a pipe */
        bool is_regular;
        bool is_checked; /* sink_check_file_system() */
        bool syncs;
        uint64_t max_bytes; /* UINT64_MAX: as it comes */
        Compressor *compressor;
        Bytes packed;

        off_t began_at;     /* where the first of it is; in a regular file */
        uint64_t n_written; /* in whole packets */
        bool is_full;
        bool is_dirty; /* something was written since the last sync */
        _Atomic uint64_t n_moved;
} SinkFile;

/* Closes what is written to, and says what could not be written after all. What a file system has kept back it may
 * write now, or hang: this is for the thread. */
int sink_file_close(SinkFile *file);

/* Both descriptors are taken over by sink_file_deinit(). 0 or -ENOMEM. */
int sink_file_init(SinkFile *file, const OutputOptions *options, bool is_regular);
void sink_file_deinit(SinkFile *file);

/* Whole packets; when they do not all fit, those before the first that does not. 0 or an errno; what was written is
 * in n_written either way. */
int sink_file_put(SinkFile *file, const Bytes *batch, bool is_end);

/* A piece of another file, as it is: from *offset on at most *n bytes, both of which it moves. 0 or an errno; *n is 0
 * when there is no more. */
int sink_file_copy(SinkFile *file, int from, off_t *offset, uint64_t *n);

/* If it is to be done at all, and there is anything new. 0 or an errno. */
int sink_file_sync(SinkFile *file);
