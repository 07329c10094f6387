/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * SinkFile: one descriptor, as seen by the thread that writes to it
 *
 * Compresses, stays within max_bytes and writes. In a regular file, a packet that could not be written completely is
 * removed again, so that the file can always be read. Belongs to the sink's thread, except for n_moved, which any
 * thread may read.
 */

#include <stdatomic.h>
#include <sys/types.h>

#include "compress.h"
#include "keep/outbox.h"
#include "output/output-ops.h"

/* The part of max_bytes that is reserved for the packets at the end of a trace; of a small file no more than this
 * share. */
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

        Outbox *outbox;     /* how far it has come, for another process; NULL: nobody's concern */
        uint64_t n_skipped; /* of the first batch, which the process before has written */
} SinkFile;

/* Closes the output, and returns an error that shows only now. The file system may write out what it has held back,
 * or hang, so this is for the thread. */
int sink_file_close(SinkFile *file);

/* sink_file_deinit() takes both descriptors over. Returns 0 or -ENOMEM. */
int sink_file_init(SinkFile *file, const OutputOptions *options, bool is_regular);
void sink_file_deinit(SinkFile *file);

/* Goes on behind what the outbox says that is written: what else the process before has written to a file is cut
 * off. Returns 0 or an errno; -EINTR: what it has written to a pipe nobody knows. */
int sink_file_resume(SinkFile *file);

/* Writes complete packets; if they do not all fit, those before the first that does not. Returns 0 or an errno; in
 * both cases n_written counts what was written. */
int sink_file_put(SinkFile *file, const Bytes *batch, bool is_end);

/* Copies at most *n bytes of another file from *offset on, and advances both. Returns 0 or an errno; *n is 0 if
 * there is no more. */
int sink_file_copy(SinkFile *file, int from, off_t *offset, uint64_t *n);

/* Syncs the file if that was asked for and something new was written. Returns 0 or an errno. */
int sink_file_sync(SinkFile *file);
