/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What a session remembers of other sessions that run beside it; events/concurrent.h uses it.
 */

#include "shared/bytes.h"

#define CONCURRENT_EVENTS_MAX 4096 /* that wait for a read; the rest is dropped */

/* The values are those of perfetto.protos.ConcurrentSessionEvent.State. */
typedef enum SessionPhase {
        PHASE_NONE, /* it has not been reported yet */
        PHASE_DISABLED,
        PHASE_CONFIGURED,
        PHASE_STARTED,
        PHASE_STOPPING,
        PHASE_CLONED,
} SessionPhase;

/* Embedded in a session; zero-initialised is empty. */
typedef struct Concurrent {
        SessionPhase phase;
        uint64_t phase_ns; /* since when */
        Bytes packets;     /* of others, framed, and not read yet */
        unsigned n_packets;
} Concurrent;
