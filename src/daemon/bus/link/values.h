/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Passes over values of a message, in time that is known before
 *
 * sd_bus_message_skip() looks at each of a million empty arrays in a variant that nobody reads, and at each byte of an
 * array of bytes. Meanwhile nobody else is served.
 */

#include <systemd/sd-bus.h>

#include "core/producer.h"

/* Of one call: all categories that a data source may have, and what else there may be of many data sources. */
#define BUS_VALUES_MAX (SOURCE_CATEGORIES_MAX + 4096)

enum {
        VALUES_E_TOO_MANY = 1,
};

/* What value_step() returns of a container: no value weighs as little. */
#define VALUE_ENTERED 1

/* Passes over a basic value or an array of numbers, and goes into any other container. The arguments are what
 * sd_bus_message_peek_type() says. VALUE_ENTERED, how many bytes the value has about, or a negative errno. */
int value_step(sd_bus_message *message, char type, const char *contents);

/* Passes over that many complete values, with no more than *n_left in them all. Returns 0, VALUES_E_TOO_MANY or an
 * errno. */
int values_pass(sd_bus_message *message, size_t n_values, size_t *n_left);
