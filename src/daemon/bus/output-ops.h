/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Outputs: what a transport asks of whoever writes to descriptors
 *
 * A transport must never block in a write. It hands whole batches of packets to an output, which writes them
 * somewhere else (src/daemon/sink.h) and calls back when there is room again, or no hope.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/bytes.h"

typedef struct Output Output;

/* There is room again, everything is written after finish(), or it failed. Never called from inside an op. */
typedef void (*OutputChanged)(void *userdata);

enum {
        _OUTPUT_E_SUCCESS,
        OUTPUT_E_UNUSABLE, /* *ret_why says what is wrong with the descriptor */
        OUTPUT_E_LIMIT,    /* too many of this user are being written, or hang */
};

typedef struct OutputOps {
        /* Takes over `fd` on success only. 0, OUTPUT_E_… or an errno. `host` is what came with the table, `uid` who is
         * charged. */
        int (*open)(Output **ret,
                    void *host,
                    uid_t uid,
                    int fd,
                    OutputChanged changed,
                    void *userdata,
                    const char **ret_why);

        /* How many bytes may be pushed now. */
        size_t (*room)(Output *output);

        /* Takes the bytes; they are written completely or, in a regular file, not at all. */
        int (*push)(Output *output, Bytes *bytes);

        /* Nothing more will be pushed. */
        void (*finish)(Output *output);

        bool (*is_done)(Output *output); /* finished and written, or failed */
        int (*error)(Output *output);    /* a negative errno once it has failed */
        uint64_t (*n_written)(Output *output);

        /* Never blocks; what is not written yet is lost unless is_done(). */
        Output *(*close)(Output *output);
} OutputOps;
