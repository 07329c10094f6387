/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kept events: the names of the kernel's events, over the end of an idle service
 *
 * In $RUNTIME_DIRECTORY, which systemd keeps until the machine is shut down. Without one nothing is kept.
 */

#include "bus/link/event-names.h"

/* What cannot be read is not there. */
void kept_events_load(EventNames *names);

/* Writes them, if they have changed. */
void kept_events_save(EventNames *names);
