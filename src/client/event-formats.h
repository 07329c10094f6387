/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event formats: the fields of the kernel's events, as text from tracefs
 *
 * A user who may read tracefs does so; for other users the service has the probes read them.
 */

#include <glib.h>

#include "client/bus-client.h"

/* *Fills `ret` with the text of each event that exists, by its name. Reports errors. */
ExitStatus
event_formats_read(GHashTable **ret, const GPtrArray *events, const Invocation *invocation);
