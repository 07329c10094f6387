/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ActivateProducers() and AwaitProducers(): answered when the awaited producers have registered, or are overdue
 */

#include "bus/link/request.h"

int bus_method_activate_producers(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_await_producers(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* Answers the calls, once no producer is awaited. */
void bus_answer_activations(Bus *bus);
