/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sink: writes to one descriptor, on a thread of its own
 *
 * Pipes and files may block for as long as they like; only the sink's thread waits for them. Batches are queued up to
 * a limit. When a write fails, the rest is dropped; a regular file is cut back to the end of the last whole batch, so
 * that what is there can be read.
 *
 * The OutputOps of the transports (output/output-ops.h); their `host` is the sd_event.
 */

#include "output/output-ops.h"

#define SINK_QUEUE_BYTES_MAX (8u << 20)
#define SINK_BATCHES_MAX     64

/* Threads that write, or hang in a write although nobody waits for it any more: that is up to whoever made the
 * descriptor, and desktraced.service has 256 threads for all users. */
#define SINK_WORKERS_PER_USER_MAX 16

extern const OutputOps sink_output_ops;

/* Once, before the first sink: a closed pipe or a full quota must be an error, not a death. */
void sink_ignore_signals(void);
