/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * RegisterProducer(), RegisterDataSource(), UnregisterDataSource()
 */

#include <systemd/sd-bus.h>

int bus_method_register_producer(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_register_source(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_unregister_source(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_add_notes(sd_bus_message *message, void *userdata, sd_bus_error *error);
