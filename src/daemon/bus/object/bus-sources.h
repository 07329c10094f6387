/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * ListSources() and ListCategories()
 */

#include <systemd/sd-bus.h>

int bus_method_list_sources(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_list_categories(sd_bus_message *message, void *userdata, sd_bus_error *error);
