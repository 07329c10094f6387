/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Kept events: the names of the kernel's events, kept while the service does not run
 *
 * They are stored in $RUNTIME_DIRECTORY, which systemd keeps until the machine is shut down. Without that directory
 * nothing is stored.
 */

#include "bus/link/event-names.h"

/* Reads them; a file that cannot be read counts as missing. */
void kept_events_load(EventNames *names);

/* Writes them, if they have changed. */
void kept_events_save(EventNames *names);
