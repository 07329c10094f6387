/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ListEvents(): the kernel's events
 *
 * Anybody may know them. The probes are started only for callers that may record with them; for other callers polkit is
 * asked without a prompt, and if it denies, they get the last known list.
 */

#include "bus/link/request.h"
#include "bus/object/bus-producer.h"
#include "bus/permission/bus-polkit.h"

int bus_method_list_events(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* A producer has registered a source: keeps its names, if it is the source that has events. */
void bus_events_note(Bus *bus, const char *source, const char *const *names);

/* Whether a producer runs that knows the events. */
bool bus_events_are_current(Bus *bus);

/* Answers the calls, once no producer is awaited. */
void bus_answer_event_lists(Bus *bus);
