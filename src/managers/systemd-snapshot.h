/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * systemd snapshot: what a manager remembers of the time before
 *
 * It keeps the last times of each unit that it has loaded, and when its own start went through which stage. A unit
 * is first asked when it last left "inactive", and for the rest only if it ever did: most units never have.
 */

#include "managers/manager-bus.h"
#include "managers/systemd-message.h"
#include "managers/unit-recorder.h"

#define SNAPSHOT_CALLS_MAX \
        64 /* calls of the snapshot at a time; the others are left for events that arrive
                               * meanwhile */

typedef struct SystemdSnapshot SystemdSnapshot;

/* Returns 0 or a negative errno. */
int systemd_snapshot_new(SystemdSnapshot **ret, ManagerBus *bus, UnitRecorder *recorder);
/* Call it after its bus was closed, or when the snapshot is done. */
SystemdSnapshot *systemd_snapshot_free(SystemdSnapshot *snapshot);

/* Whether everything is in the recorder, or no more answers will come. */
bool systemd_snapshot_is_done(const SystemdSnapshot *snapshot);
/* How many units did not answer. */
size_t systemd_snapshot_n_missing(const SystemdSnapshot *snapshot);
