/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Reads a list of names ("as") of any length in time that grows with its length
 *
 * sd_bus_message_read_strv() counts the list again for each name that it adds. For the hundreds of thousands that fit
 * in one message that takes minutes, in which nobody else is served.
 */

#include <systemd/sd-bus.h>

enum {
        NAMES_E_TOO_MANY = 1, /* more than n_max, which is as far as it was read */
};

/* *ret is malloc'ed and NULL-terminated, NULL if there is no name. */
int names_read(char ***ret, size_t *ret_n, sd_bus_message *message, size_t n_max);

char **names_free(char **names);
