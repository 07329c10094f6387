/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Sink: writes to one descriptor, on a thread of its own
 *
 * Pipes and files may block for as long as they like; only the sink's thread waits for them. Batches are queued up to a
 * limit. If a write fails, the rest is dropped, and a regular file is truncated to the end of the last complete batch,
 * so that it can be read.
 *
 * These are the OutputOps of the transports (output/output-ops.h); their `host` is the sd_event.
 */

#include "output/output-ops.h"

#define SINK_QUEUE_BYTES_MAX (8u << 20)
#define SINK_BATCHES_MAX     64
#define SINK_SPARES_MAX      4 /* memory of batches that were written: a queue is usually short */

/* Threads that write, or hang in a write that nobody waits for any longer: the user who made the descriptor decides
 * that, and desktraced.service has 256 threads for all users. */
#define SINK_WORKERS_PER_USER_MAX 16

extern const OutputOps sink_output_ops;

/* Whether a thread still writes or hangs, if only in the close of a descriptor that it is done with. */
bool sinks_have_threads(void);
/* Until they have ended, or so long: they say how far they have come. */
void sinks_wait(unsigned ms);

/* To be called once, before the first sink, so that a closed pipe or a full quota is an error rather than a signal
 * that kills the service. */
void sink_ignore_signals(void);
