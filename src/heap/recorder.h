/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Recorder: the sessions that record this program's heap, and the thread that writes their dumps
 *
 * The thread starts with the first session. The library's thread only leaves orders here. When the program ends, its
 * last thread writes the last dumps itself. The lock is not held while a dump is written.
 */

#include <stdbool.h>
#include <stdint.h>

#include "desktrace/source.h"
#include "heap/settings.h"

typedef struct Recording Recording;

/* Counts for the instance. What recorder_start_early() has counted is its, if nobody has that yet and the interval
 * is the same. 0, or a negative errno: -EBUSY, if there are too many. */
int recorder_add(Recording **ret,
                 dt_instance *instance,
                 const HeapSettings *settings,
                 const HeapProcess *process);
/* It dumps, and then answers. */
void recorder_flush(Recording *recording, dt_reply *reply);
void recorder_stop(Recording *recording, dt_reply *reply);
/* The session is gone: what has not been written is not wanted. */
void recorder_remove(Recording *recording);

/* Counts from now on, for a session that is still to come. */
int recorder_start_early(uint64_t interval);

/* The program ends: waits until `deadline_ns` (CLOCK_MONOTONIC) for the session that was to come, and writes what all
 * have counted. */
void recorder_finish(uint64_t deadline_ns);
