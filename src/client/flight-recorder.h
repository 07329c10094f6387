/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Flight recorder: a ring buffer that keeps recording, for snapshots of the last seconds
 *
 * Without triggers the session is detached: it runs until its time is over, and "desktrace snapshot" takes snapshots of
 * it. With triggers it belongs to us, and each hit makes a file.
 */

#include <stdbool.h>
#include <stdint.h>

#include "client/invocation.h"
#include "client/record-request.h"
#include "client/recording.h"

#define FLIGHT_BEFORE_MS_DEFAULT (10u * 1000)
#define FLIGHT_BEFORE_MS_MAX     (3600u * 1000)
#define FLIGHT_DURATION_MS_DEFAULT \
        (24u * 3600 * 1000) /* the default, for which no permission is needed */
#define FLIGHT_DURATION_MS_MAX (7u * 24 * 3600 * 1000) /* the name that the service knows */

/* A ring holds bytes, but people want seconds. This is twice the rate of scheduling events on a busy desktop. */
#define FLIGHT_BYTES_PER_SECOND (4u << 20)
#define FLIGHT_BUFFER_KB_MAX \
        (512u << 10) /* the largest size that we choose; -b may set a larger one */

typedef struct FlightRecorder {
        char **triggers;    /* NULL: none */
        uint32_t before_ms; /* 0: nobody said */
        uint32_t after_ms;
} FlightRecorder;

/* Sets what the request leaves open: the name, the end, the ring. With `keeps_config`, the config is the user's own,
 * and its periods are kept. */
void flight_recorder_apply(const FlightRecorder *recorder,
                           RecordRequest *request,
                           bool keeps_config);

/* Reports a session that keeps running when we exit: its name, its end, and the next commands. */
void flight_recorder_say_left(const FlightRecorder *recorder,
                              const RecordRequest *request,
                              const Invocation *invocation,
                              const char *session_path);

/* Reports a session that runs while we wait. `socket` is NULL for the bus. */
void flight_recorder_say_waiting(const char *trigger,
                                 const Invocation *invocation,
                                 const char *socket,
                                 const char *output);
