/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the core asks of the outside
 *
 * The core does no I/O and reads no clock. Its requests leave through these tables, which a transport
 * (D-Bus, Perfetto's sockets) or a test fills in. Every function may be called from inside any core
 * function; it must not call back into the core before it returns, but queue its answer.
 * Requests carry numbers; answers come back by the functions that each comment names.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/identity.h"
#include "smb/smb.h"

typedef struct Producer Producer;
typedef struct Service Service;
typedef struct Session Session;

/* Perfetto's builtin clock ids (protos/perfetto/common/builtin_clock.proto). */
enum {
        CLOCK_ID_REALTIME = 1,
        CLOCK_ID_REALTIME_COARSE = 2,
        CLOCK_ID_MONOTONIC = 3,
        CLOCK_ID_MONOTONIC_COARSE = 4,
        CLOCK_ID_MONOTONIC_RAW = 5,
        CLOCK_ID_BOOTTIME = 6,
};

typedef struct ClockReading {
        uint32_t clock_id;
        uint64_t ns;
} ClockReading;

#define CLOCK_READINGS_MAX 8

typedef struct ProducerOps {
        /* Makes and maps shared memory with pages_bytes of pages and passes it to the producer. Called before a
         * setup_source() when the producer has none yet. The area stays mapped until release_memory() or
         * producer_free(). */
        int (*setup_memory)(void *peer, size_t pages_bytes, uint32_t page_bytes, SmbArea *ret);

        /* Gives the memory back, here and in the producer, which has no instance left. */
        void (*release_memory)(void *peer);

        /* Finds the next bytes of the memory, from that one on, that were written to: looking at the others would
         * allocate them. Both are the memory's size if there are none. NULL: any may have been written to. */
        void (*next_used)(void *peer, size_t from, size_t *ret_begin, size_t *ret_end);

        /* Answer to start_source: producer_source_started(), or producer_source_failed() for either. */
        void (*setup_source)(void *peer,
                             uint64_t instance,
                             const char *name,
                             const void *config,
                             size_t n_config);
        void (*start_source)(void *peer, uint64_t instance);

        /* Answer: producer_source_stopped(). */
        void (*stop_source)(void *peer, uint64_t instance);

        /* Answer: producer_flushed(). */
        void (*flush)(void *peer,
                      uint64_t request,
                      const uint64_t *instances,
                      size_t n_instances,
                      uint64_t flags);
        void (*clear_incremental_state)(void *peer, const uint64_t *instances, size_t n_instances);
} ProducerOps;

typedef struct SessionOps {
        /* State, sources or stop reason changed: look again. */
        void (*changed)(void *peer);

        /* The session streams to an output and a piece is due: call session_read() until it has no more. Also
         * called once more after it has stopped. */
        void (*output_due)(void *peer);

        /* One of its triggers was hit. `producer` is who sent it, or "". */
        void (*triggered)(void *peer, const char *trigger, const char *producer, uid_t uid);

        /* A snapshot that a trigger asked for: the clone is the callee's and wants session_adopt(). */
        void (*snapshot_taken)(void *peer, Session *clone, const char *trigger);
        /* The snapshot failed, with an outcome of session_clone(); `why` may be empty. */
        void (*snapshot_failed)(void *peer, const char *trigger, int outcome, const char *why);
} SessionOps;

typedef struct ServiceOps {
        /* All clocks, read as close together as can be, BOOTTIME first. Returns how many. */
        size_t (*read_clocks)(void *userdata, ClockReading ret[static CLOCK_READINGS_MAX]);

        void (*random)(void *userdata, void *ret, size_t n_bytes);

        /* Starts the activatable producer number `index`, in the order of service_add_activatable(). If that fails:
         * service_activation_failed(). */
        void (*activate)(void *userdata, size_t index);

        /* Whether the process cannot answer, as it is stopped by a signal or a debugger, or frozen. Asked only about
         * processes that have let SESSION_GRACE_NS pass. If it is not known: false. */
        bool (*is_suspended)(void *userdata, const Identity *identity);

        /* The login user whose limits count for that peer: for a subordinate uid, its owner. NULL: each uid is a user.
         * Transports call it on other threads, too. */
        uid_t (*user_of)(void *userdata, const Identity *identity);

        /* BOOTTIME nanoseconds now. For a trace of the service itself and nothing else; may be NULL, and then time
         * stands still during a call. */
        uint64_t (*read_boottime)(void *userdata);
} ServiceOps;
