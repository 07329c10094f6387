/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Outputs: how a transport has descriptors written to
 *
 * A transport must never block in a write. It hands whole batches of packets to an output, which compresses and
 * writes them somewhere else (src/daemon/sink.h) and calls back when there is room again, or no hope.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/model/compression.h"
#include "shared/bytes.h"

typedef struct Output Output;

/* There is room again, everything is written after finish(), it is full, or it failed. Never called from inside an
 * op. */
typedef void (*OutputChanged)(void *userdata);

enum {
        _OUTPUT_E_SUCCESS,
        OUTPUT_E_UNUSABLE, /* *ret_why has the reason */
        OUTPUT_E_LIMIT,    /* too many of this user are being written, or hang */
};

typedef struct OutputOptions {
        uid_t user;              /* who is charged */
        Compression compression; /* one of OutputOps.codecs, or none */
        bool syncs;              /* a file's data is on its medium before more is written */
        uint64_t max_bytes;      /* of what is written; 0: as it comes */
        bool is_kept;            /* another process can go on with it, once `files` says so */
        int *outbox; /* of the process before, which is gone on with: taken over (-1) on success only; or NULL */
} OutputOptions;

typedef struct OutputOps {
        /* What it can compress with, as bits 1 << Codec. */
        unsigned codecs;

        /* Takes over `fd` on success only. Returns 0, OUTPUT_E_… or an errno. `host` is what came with the table. */
        int (*open)(Output **ret,
                    void *host,
                    int fd,
                    const OutputOptions *options,
                    OutputChanged changed,
                    void *userdata,
                    const char **ret_why);

        /* How many bytes may be pushed now. */
        size_t (*room)(Output *output);

        /* Empty, with the memory of a batch that has been written if there is one. */
        void (*borrow)(Output *output, Bytes *ret);

        /* Takes whole packets, in trace file framing. They are written completely or, in a regular file, not at all.
         * A synchronisation marker at the front of them is never compressed. `is_end`: written behind a full file, in
         * what max_bytes keeps back for it. */
        int (*push)(Output *output, Bytes *bytes, bool is_end);

        /* How many packets have been read for all that is pushed, with the next batch, and what that has said, as a
         * number for the session. */
        void (*note_read)(Output *output, uint64_t n_packets, uint64_t said);
        uint64_t (*n_packets)(Output *output); /* as noted last, if only by the process before */
        uint64_t (*said)(Output *output);      /* likewise */

        /* What another process needs to go on with it, once it is known that neither can make anybody wait who closes
         * it; false: not yet, or never. *ret_fd is for the caller to close, *ret_outbox is not. */
        bool (*files)(Output *output, int *ret_fd, int *ret_outbox);

        /* The end was pushed, if only by the process before. */
        bool (*has_end)(Output *output);

        /* How many packets the process before had pushed that are lost. */
        uint64_t (*n_lost)(Output *output);

        /* max_bytes would have been passed: nothing more is written but what is_end. */
        bool (*is_full)(Output *output);

        /* What is in the file that `original` writes, with all that was pushed to it so far, comes before everything
         * that is pushed to this one: for a clone, before its first batch. Nothing comes when that file cannot be
         * read, is another user's, or is written no more. */
        void (*copy)(Output *output, Output *original);

        /* Nothing more will be pushed; but an output that finds itself full with its last batch awaits the end. */
        void (*finish)(Output *output);

        bool (*is_done)(Output *output); /* finished and written, or failed */
        int (*error)(Output *output);    /* a negative errno once it has failed */
        uint64_t (*n_written)(Output *output);

        /* As n_written(), with what is written of the batch at hand: whether anything moves. */
        uint64_t (*n_moved)(Output *output);

        /* Waits no longer: it has failed with this error, and is done. */
        void (*give_up)(Output *output, int error);

        /* Never blocks; what is not written yet is lost unless is_done(). */
        Output *(*close)(Output *output);
} OutputOps;
