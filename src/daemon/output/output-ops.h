/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Outputs: how a transport writes to descriptors
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
        OUTPUT_E_UNUSABLE, /* **ret_why has the reason */
        OUTPUT_E_LIMIT,    /* too many outputs of this user are being written, or hang */
};

typedef struct OutputOptions {
        uid_t user;              /* who is charged */
        Compression compression; /* one of OutputOps.codecs, or none */
        bool syncs;              /* data of a file is synced before more is written */
        uint64_t max_bytes;      /* limit of the output; 0: none */
        bool is_kept; /* another process can continue the output, once `files` returns true */
        int *outbox; /* NULL, or of the earlier process, to be continued; taken over (-1) on success only */
} OutputOptions;

typedef struct OutputOps {
        /* The supported compression, as bits 1 << Codec. */
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

        /* Returns an empty batch, with the memory of one that has been written if there is any. */
        void (*borrow)(Output *output, Bytes *ret);

        /* Takes whole packets, in trace file framing. They are written completely or, in a regular file, not at all.
         * A synchronisation marker at the front of them is never compressed. `is_end`: written behind a full file, in
         * what max_bytes keeps back for it. */
        int (*push)(Output *output, Bytes *bytes, bool is_end);

        /* Notes how many packets have been read for everything that is pushed, including the next batch, and what
         * that batch announces, as a number for the session. */
        void (*note_read)(Output *output, uint64_t n_packets, uint64_t said);
        uint64_t (*n_packets)(Output *output); /* as last noted, also by the earlier process */
        uint64_t (*said)(Output *output);      /* likewise */

        /* The descriptors that another process needs to continue the output, once it is known that closing them
         * makes nobody wait. Returns false if that is not known yet, or not so. The caller closes *ret_fd, but
         * not *ret_outbox. */
        bool (*files)(Output *output, int *ret_fd, int *ret_outbox);

        /* Whether the end was pushed, also by the earlier process. */
        bool (*has_end)(Output *output);

        /* How many packets that the earlier process had pushed are lost. */
        uint64_t (*n_lost)(Output *output);

        /* Whether max_bytes would have been exceeded: from then on only a batch with is_end is written. */
        bool (*is_full)(Output *output);

        /* For a clone, before its first batch: puts the contents of the file that `original` writes, with
         * everything pushed to it so far, before everything that is pushed to this output. Nothing is copied if
         * that file cannot be read, belongs to another user, or is no longer written. */
        void (*copy)(Output *output, Output *original);

        /* Nothing more will be pushed, except the end if the output turns out to be full with its last batch. */
        void (*finish)(Output *output);

        bool (*is_done)(Output *output); /* finished and written, or failed */
        int (*error)(Output *output);    /* a negative errno once it has failed */
        uint64_t (*n_written)(Output *output);

        /* The same as n_written(), plus the part of the current batch that is written: it shows whether anything
         * moves. */
        uint64_t (*n_moved)(Output *output);

        /* Stops waiting: the output has failed with this error, and is done. */
        void (*give_up)(Output *output, int error);

        /* Never blocks; unless is_done(), data that is not written yet is lost. */
        Output *(*close)(Output *output);
} OutputOps;
