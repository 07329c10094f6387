/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ActivateProducers() and AwaitProducers(): answered when those that are awaited have come, or are overdue
 */

#include "bus/link/request.h"

int bus_method_activate_producers(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_await_producers(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* Answers, when nobody is awaited any more. */
void bus_answer_activations(Bus *bus);
