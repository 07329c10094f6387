/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * systemd reader: follows a manager's signals
 *
 * Times are those of the manager. Jobs have none, so theirs are the times at which their signals arrive.
 */

#include "managers/manager-bus.h"
#include "managers/unit-recorder.h"

typedef struct SystemdReader {
        ManagerBus *bus; /* borrowed, as is: */
        UnitRecorder *recorder;
        bool wants_jobs;
} SystemdReader;

/* Returns 0 or a negative errno. */
int systemd_reader_begin(SystemdReader *reader,
                         ManagerBus *bus,
                         UnitRecorder *recorder,
                         bool wants_jobs);

uint64_t monotonic_now_us(void);
