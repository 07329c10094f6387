/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ListEvents(): the kernel's events
 *
 * Anybody may know them. Only those whom the probes may serve anyway have them started for it; polkit is asked about
 * the others without a prompt, and what the probes have said last is what those get.
 */

#include "bus/link/request.h"
#include "bus/object/bus-producer.h"

int bus_method_list_events(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* A producer has registered a source: keeps its names, if it is the one that has events. */
void bus_events_note(Bus *bus, const char *source, const char *const *names);

/* Answers, when nobody is awaited any more. */
void bus_answer_event_lists(Bus *bus);
