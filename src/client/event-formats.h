/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event formats: what the kernel's events are made of, as text of tracefs
 *
 * Those who may read tracefs do; the others ask the service, which has the probes read them.
 */

#include <glib.h>

#include "client/bus-client.h"

/* *ret has the text of each event that there is, by its name. Reports errors. */
ExitStatus
event_formats_read(GHashTable **ret, const GPtrArray *events, const Invocation *invocation);
