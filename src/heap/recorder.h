/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Recorder: the sessions that record this program's heap, and the thread that writes their dumps
 *
 * The thread starts with the first session. The library's thread only leaves orders here. When the program ends, its
 * last thread writes the last dumps itself. Nobody holds the lock while a dump is written.
 */

#include <stdbool.h>
#include <stdint.h>

#include "desktrace/source.h"
#include "heap/settings.h"

typedef struct Recording Recording;

/* Starts to count for the instance. It takes over what recorder_start_early() has counted if the interval is the
 * same and no other instance has done so. Returns 0 or a negative errno: -EBUSY if there are too many recordings. */
int recorder_add(Recording **ret,
                 dt_instance *instance,
                 const HeapSettings *settings,
                 const HeapProcess *process);
/* Writes a dump, and then answers. */
void recorder_flush(Recording *recording, dt_reply *reply);
void recorder_stop(Recording *recording, dt_reply *reply);
/* The session is gone, so nobody wants what has not been written yet. */
void recorder_remove(Recording *recording);

/* Starts to count for a session that is still to come. */
int recorder_start_early(uint64_t interval);

/* The program is ending: waits until `deadline_ns` (CLOCK_MONOTONIC) for the session that was to come, and writes
 * what all sessions have counted. */
void recorder_finish(uint64_t deadline_ns);
