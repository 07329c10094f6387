/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Asking producers to flush, and the reply; model/flush.h is who is waited for.
 */

#include "core/model/flush.h"

/* Perfetto's FlushFlags: bits 0-3 the reason, bits 4-7 who began it. */
enum {
        FLUSH_REASON_PERIODIC = 1,
        FLUSH_REASON_TRACE_STOP = 2,
        FLUSH_REASON_CLONE = 3,
        FLUSH_REASON_EXPLICIT = 4,
        FLUSH_INITIATOR_SERVICE = 1 << 4,
};

/* Asks every producer with running instances that hold data. Nobody is asked twice; with nobody to ask the flush is
 * complete: session_progress() ends it. */
int flush_new(Flush **ret,
              Session *session,
              uint64_t timeout_ns,
              uint64_t flags,
              SessionFlushDone done,
              void *userdata);

/* The same, of the sources that write to some of the buffers. */
int flush_new_group(Flush **ret,
                    Session *session,
                    FlushGroup group,
                    uint64_t timeout_ns,
                    uint64_t flags,
                    SessionFlushDone done,
                    void *userdata);

/* The producer was away, and may not have heard. */
void flush_ask_again(const Flush *flush, Producer *producer);

/* Everybody has answered, or it is overdue: flush_complete(), which takes what there is, replies and frees. */
bool flush_is_due(const Flush *flush, uint64_t now);
void flush_complete(Flush *flush);

/* Replies now; who has not answered by now is told. */
void flush_finish(Flush *flush, int outcome);
