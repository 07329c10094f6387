/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Profile cycle: what PipeWire's profiler reports about one cycle of its graph
 *
 * Sans-I/O. A driver, mostly a sound card, begins each cycle. The nodes that follow it are signalled, awake, and
 * finish. Newer versions of PipeWire add fields behind those that are known here; these are passed over.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bridges/pipewire/pod-reader.h"

#define PROFILE_NAME_BYTES    64  /* of a node's name; longer ones are cut */
#define PROFILE_FOLLOWERS_MAX 128 /* of a cycle; followers beyond are counted */

/* How far a node has come in a cycle. */
typedef enum ProfileStatus {
        PROFILE_NOT_TRIGGERED = 0,
        PROFILE_TRIGGERED = 1,
        PROFILE_AWAKE = 2,
        PROFILE_FINISHED = 3, /* and any higher value of newer versions */
} ProfileStatus;

/* Times are of CLOCK_MONOTONIC. */
typedef struct ProfileNode {
        uint32_t id;
        int32_t status;
        int64_t signal_ns, awake_ns, finish_ns;
        char name[PROFILE_NAME_BYTES];
} ProfileNode;

typedef struct ProfileCycle {
        int64_t number; /* of the profiler */
        double load;    /* of the last few cycles; 1: all of the time there is */
        int32_t n_xruns;
        int64_t at_ns, next_ns; /* when the driver was due, and when it is due again */
        PodFraction rate;
        int64_t duration; /* in samples of that rate */
        bool has_clock, has_driver;
        ProfileNode driver;
        ProfileNode followers[PROFILE_FOLLOWERS_MAX];
        size_t n_followers, n_left_out;
} ProfileCycle;

/* Begins to read an event of the profiler, in one piece. Returns false if the pod is not such an event. */
bool profile_begin(PodReader *ret, const void *data, size_t n);
/* Reads the event's next cycle; *ret_is_known is false if its form is unknown. Returns false if there are no more. */
bool profile_next(PodReader *reader, ProfileCycle *ret, bool *ret_is_known);
