/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace ahead: a thread that makes batches of something, a few more than have been taken
 *
 * The batches are the same, and come in the same order, as without the thread. Where none is wanted or can be started,
 * or there is only one CPU for it, each batch is made when it is taken.
 */

#include <stdbool.h>
#include <stddef.h>

#include "shared/macro.h"

/* Fills a batch, and returns how many things are in it. 0: there are no more. It is not called again after that. */
typedef size_t TraceMake(void *user_data, void *batch);

typedef struct TraceAhead TraceAhead;

/* Until it is freed, only make() may use what it uses. Returns 0 or -ENOMEM. */
int trace_ahead_new(TraceAhead **ret,
                    size_t batch_bytes,
                    TraceMake *make,
                    void *user_data,
                    bool wants_thread);
/* Stops the thread, which finishes the batch that it is making. */
TraceAhead *trace_ahead_free(TraceAhead *ahead);
DEFINE_CLEANUP(TraceAhead *, trace_ahead_free)

/* Returns the next batch, which is valid until the next call, and sets *ret_n to what make() returned. NULL: there is
 * none. */
const void *trace_ahead_next(TraceAhead *ahead, size_t *ret_n);
