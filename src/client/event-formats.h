/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event formats: what the kernel's events are made of, as text of tracefs
 *
 * A user who may read tracefs does so; for other users the service has the probes read them.
 */

#include <glib.h>

#include "client/bus-client.h"

/* *ret has the text of each event that there is, by its name. Reports errors. */
ExitStatus
event_formats_read(GHashTable **ret, const GPtrArray *events, const Invocation *invocation);
